package Test::RateLimit::Refusals;

# What `nginx -t` says of a configuration in which one thing may be wrong: of limit_req and, with its
# words replaced, of rl_req.

use warnings;
use strict;

use base qw/ Exporter /;

use Test::More;
use Test::Nginx;
use Test::RateLimit;

our @EXPORT = qw/ refused_alike refused_by_us accepted_alike accepted_by_us said /;

# A case is a text for the http level, one for a location, and what nginx says without the place;
# in the words of limit_req if both are asked. The wording has to be the same; two tests.
sub refused_alike {
	my ($t, $http, $location, $said) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(complaint($t, $http, $location), "[emerg] $said", "limit_req: $http$location");
	is(complaint($t, map { rename_only($_) } $http, $location), '[emerg] ' . rename_only($said),
		'rl_req: the same');
}

# The wording is a regular expression; one test.
sub refused_by_us {
	my ($t, $http, $location, $said) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	like(complaint($t, $http, $location) =~ s/^\[emerg\] //r, $said, "rl_req: $http$location");
}

sub accepted_alike {
	my ($t, $http, $location) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(complaint($t, $http, $location), '', "limit_req: $http$location");
	is(complaint($t, map { rename_only($_) } $http, $location), '', 'rl_req: the same');
}

sub accepted_by_us {
	my ($t, $http, $location) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(complaint($t, $http, $location), '', "rl_req: $http$location");
}

# The zones keep their names: each side is asked in a configuration of its own.
sub rename_only {
	my ($text) = @_;

	return $text =~ s/limit_req_zone/rl_zone/gr =~ s/limit_req/rl_req/gr;
}

sub complaint {
	return said(@_) =~ s/ in \S+nginx\.conf:\d+$//r;
}

# With the place; nothing if nginx accepts this.
sub said {
	my ($t, $http, $location) = @_;

	my $directive = "$http$location" =~ /rl_/ ? 'rl_zone' : 'limit_req_zone';
	write_http($t, <<EOC);
$directive \$arg_k zone=z:1m rate=1r/m;
$http
server {
    listen 127.0.0.1:8080;
    location / { $location }
}
EOC
	my $dir = $t->testdir();
	my $said = `'$Test::Nginx::NGINX' -t -p '$dir/' -c nginx.conf -e error.log 2>&1`;
	return '' if $? == 0 && $said !~ /\[(?:warn|error|crit|alert|emerg)\]/;
	return $said =~ /^nginx: (\[.*)$/m ? $1 : "failed: $said";
}

###############################################################################

1;
