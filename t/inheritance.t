#!/usr/bin/perl

# Limits are inherited as a whole, and only by a level that has none of its own.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req rewrite/)->plan(15);

# On the http level the two sides would limit each other's servers: one after the other, then.
my $conf = <<'EOF';
limit_req_zone $arg_k zone=http:1m rate=1r/m;
limit_req_zone $arg_k zone=server:1m rate=1r/m;
limit_req_zone $arg_k zone=location:1m rate=1r/m;
limit_req zone=http burst=2 nodelay;
limit_req_status 429;
server {
    listen 127.0.0.1:8080;
    location /dry/ { limit_req_dry_run on; }
}
server {
    listen 127.0.0.1:8081;
    limit_req zone=server;
    location /nested/ {
        limit_req_status 430;
        location /nested/deep/ { }
    }
    location /own/ {
        limit_req zone=location burst=1 nodelay;
        limit_req_status 431;
    }
    location /if/ {
        if ($arg_if) { set $x 1; }
    }
}
EOF

my @dirs = qw( dry nested nested/deep own if );
mkdir $t->testdir() . "/$_" for @dirs;
$t->write_file("$_/a.html", 'served') for @dirs;
$t->write_file('a.html', 'served');

###############################################################################

my %got;
for my $side (qw/ limit_req rl_req /) {
	write_http($t, $side eq 'rl_req' ? migrate($conf) : $conf);
	$t->run();

	my $server = $side eq 'rl_req' ? 8091 : 8081;
	my $got = $got{$side} = {
		http => statuses($side, ('/a.html?k=a') x 4),
		dry => statuses($side, ('/dry/a.html?k=a') x 2),
		server => statuses($server, ('/a.html?k=b') x 2),
		nested => statuses($server, ('/nested/a.html?k=b'), ('/nested/deep/a.html?k=c') x 2),
		own => statuses($server, ('/own/a.html?k=b') x 3),
		if => statuses($server, ('/if/a.html?k=d&if=1') x 2),
	};
	$t->stop();
}

is_on_both('http level', '200 200 200 429', sub { $got{+shift}{http} });
is_on_both('dry run of the same limit', '200 200', sub { $got{+shift}{dry} });
is_on_both('a limit of the server replaces that of http', '200 429', sub { $got{+shift}{server} });
is_on_both('nested locations', '430 200 430', sub { $got{+shift}{nested} });
is_on_both('a limit of the location replaces that of the server', '200 200 431', sub {
	$got{+shift}{own};
});
is_on_both('if in a location', '200 429', sub { $got{+shift}{if} });
is_on_both('each in the name of its zone', 'http http http server server server location server', sub {
	join ' ', map { /by zone "(\w+)"/ } log_of($t, shift);
});

log_is_calm($t);

###############################################################################
