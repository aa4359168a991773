#!/usr/bin/perl

# What nginx says of a bad configuration: as for limit_req, where limit_req refuses it too.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req limit_conn/);

# On the http level, in a location, and what is said; all in the words of limit_req.
my @refused = (
	# Zones.
	(map { [ "limit_req_zone \$arg_k zone=y:1m $_;", '', qq{invalid rate "$_"} ] }
		qw( rate= rate=0 rate=0r/s rate=r/s rate=-1r/s rate=1.5r/s rate=1r/h rate=1r/ rate=x )),
	(map { [ "limit_req_zone \$arg_k $_ rate=1r/m;", '', qq{invalid zone size "$_"} ] }
		qw( zone=y zone=y: zone=y:x zone=y:-1m zone=y:1g zone=y:1m1 )),
	(map { [ "limit_req_zone \$arg_k $_ rate=1r/m;", '', qq{zone "$_" is too small} ] }
		qw( zone=y:0 zone=y:32767 zone=y:31k )),
	[ 'limit_req_zone $arg_k zone=:1m rate=1r/m;', '',
		'"limit_req_zone" must have "zone" parameter' ],
	[ 'limit_req_zone $arg_k rate=1r/m rate=2r/m;', '',
		'"limit_req_zone" must have "zone" parameter' ],
	[ 'limit_req_zone $arg_k zone=y:1m rete=1r/m;', '', 'invalid parameter "rete=1r/m"' ],
	[ 'limit_req_zone $arg_j zone=z:1m rate=2r/m;', '',
		'limit_req_zone "z" is already bound to key "$arg_k"' ],
	[ 'limit_req_zone $arg_k zone=z:2m rate=1r/m;', '', 'the size 2097152 of shared memory zone'
		. ' "z" conflicts with already declared size 1048576' ],
	[ 'limit_req_zone $nothing zone=y:1m rate=1r/m;', '', 'unknown "nothing" variable' ],
	[ 'limit_req_zone $arg_k;', '', 'invalid number of arguments in "limit_req_zone" directive' ],
	[ '', 'limit_req_zone $arg_k zone=y:1m rate=1r/m;',
		'"limit_req_zone" directive is not allowed here' ],

	# Limits.
	(map { [ '', "limit_req zone=z $_;", qq{invalid burst value "$_"} ] }
		qw( burst= burst=0 burst=-1 burst=x burst=1.5 )),
	(map { [ '', "limit_req zone=z $_;", qq{invalid delay value "$_"} ] }
		qw( delay= delay=0 delay=-1 delay=x delay=1s )),
	(map { [ '', "limit_req zone=z $_;", qq{invalid parameter "$_"} ] }
		qw( nodelay=1 nodelayed brust=1 z )),
	[ '', 'limit_req burst=5;', '"limit_req" must have "zone" parameter' ],
	[ '', 'limit_req;', 'invalid number of arguments in "limit_req" directive' ],
	[ '', 'limit_req zone=z; limit_req zone=z burst=5;', '"limit_req" directive is duplicate' ],
	[ 'limit_req zone=z; limit_req zone=z;', '', '"limit_req" directive is duplicate' ],
	[ 'limit_conn_zone $arg_k zone=c:1m;', 'limit_req zone=c;',
		'the shared memory zone "c" is already declared for a different use' ],

	# The rest.
	[ '', 'limit_req_status 399;', 'value must be between 400 and 599' ],
	[ '', 'limit_req_status 600;', 'value must be between 400 and 599' ],
	[ '', 'limit_req_status x;', '"limit_req_status" directive invalid number' ],
	[ '', 'limit_req_status 429; limit_req_status 429;', '"limit_req_status" directive is duplicate' ],
	[ '', 'limit_req_log_level debug;', 'invalid value "debug"' ],
	[ '', 'limit_req_log_level warn; limit_req_log_level warn;',
		'"limit_req_log_level" directive is duplicate' ],
	[ '', 'limit_req_dry_run yes;',
		'invalid value "yes" in "limit_req_dry_run" directive, it must be "on" or "off"' ],
);

# What limit_req takes, to be wrong later, or says in a way that does not help.
my @refused_by_us = (
	(map { [ "rl_zone \$arg_k zone=y:1m $_;", '', qr/^invalid rate "$_", at most \d+/ ] }
		qw( rate=9223372036854776 rate=9223372036854775807r/s rate=99999999999999999999 )),
	(map { [ '', "rl_req zone=z $_;", qr/^invalid burst value "$_", at most \d+/ ] }
		qw( burst=9223372036854 burst=9223372036854775807 burst=99999999999999999999 )),
	(map { [ '', "rl_req zone=z $_;", qr/^invalid delay value "$_", at most \d+/ ] }
		qw( delay=9223372036854776 delay=99999999999999999999 )),
	[ '', 'rl_req zone=nowhere;', qr/"nowhere".*"rl_zone"/ ],
	[ 'rl_req zone=nowhere;', '', qr/"nowhere".*"rl_zone"/ ],
	[ '', 'rl_req zone=;', qr/zone ""/ ],
	[ 'limit_req_zone $arg_k zone=stock:1m rate=1r/m;', 'rl_req zone=stock;',
		qr/"stock" is already declared for a different use/ ],
);

my @accepted = (
	[ 'limit_req_zone $arg_k zone=y:32k rate=1;', '' ],
	[ 'limit_req_zone $arg_k rate=1r/m zone=y:32768;', '' ],
	[ 'limit_req_zone $arg_k$arg_j-text zone=y:1M rate=10r/s;', '' ],
	[ '', 'limit_req burst=1 zone=z nodelay; limit_req_status 400;' ],
	[ '', 'limit_req zone=z burst=1 delay=1; limit_req_status 599;' ],
);
my @accepted_by_us = (
	[ 'rl_zone $arg_k zone=y:1m;', '' ],
	[ 'rl_zone $arg_k zone=x:1m rate=1r/s zone=y:1m rate=5r/s;', '' ],
	[ '', 'rl_req zone=z burst=1 delay=1 nodelay;' ],
	[ '', 'rl_req zone=z burst=9223372036853;' ],
);

$t->plan(2 * @refused + @refused_by_us + 2 * @accepted + @accepted_by_us + 1);

###############################################################################

for my $case (@refused) {
	my ($http, $location, $said) = @$case;
	is(complaint($t, $http, $location), "[emerg] $said", "limit_req: $http$location");
	is(complaint($t, map { rename_only($_) } $http, $location), '[emerg] ' . rename_only($said),
		'rl_req: the same');
}
for my $case (@refused_by_us) {
	my ($http, $location, $said) = @$case;
	like(complaint($t, $http, $location) =~ s/^\[emerg\] //r, $said, "rl_req: $http$location");
}
for my $case (@accepted) {
	is(complaint($t, @$case), '', "limit_req: @$case");
	is(complaint($t, map { rename_only($_) } @$case), '', 'rl_req: the same');
}
is(complaint($t, @$_), '', "rl_req: @$_") for @accepted_by_us;

# Found only after the whole block, and yet with its place.
my $said = said($t, '', "\nrl_req zone=nowhere;");
my @lines = split /\n/, $t->read_file('nginx.conf');
my ($place) = grep { $lines[$_ - 1] =~ /nowhere/ } 1 .. @lines;
like($said, qr/ in \S+nginx\.conf:$place$/, 'an undeclared zone, with the line of the limit');

###############################################################################

sub rename_only {
	my ($text) = @_;
	return $text =~ s/limit_req_zone/rl_zone/gr =~ s/limit_req/rl_req/gr;
}

# What nginx says, without the place, or nothing if it accepts this.
sub complaint {
	return said(@_) =~ s/ in \S+nginx\.conf:\d+$//r;
}

sub said {
	my ($t, $http, $location) = @_;

	my $directive = "$http$location" =~ /rl_/ ? 'rl_zone' : 'limit_req_zone';
	write_http($t, <<EOF);
$directive \$arg_k zone=z:1m rate=1r/m;
$http
server {
    listen 127.0.0.1:8080;
    location / { $location }
}
EOF
	my $dir = $t->testdir();
	my $said = `'$Test::Nginx::NGINX' -t -p '$dir/' -c nginx.conf -e error.log 2>&1`;
	return '' if $? == 0 && $said !~ /\[(?:warn|error|crit|alert|emerg)\]/;
	return $said =~ /^nginx: (\[.*)$/m ? $1 : "failed: $said";
}

###############################################################################
