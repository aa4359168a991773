#!/usr/bin/perl

# A worker that is killed inside the table's lock: the others go on at once.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

use Time::HiRes qw/ time /;

###############################################################################

# Only a module that was built with the feature `test-hooks` stops on request.
plan(skip_all => 'no module with test hooks (TEST_RL_HOOKS)') unless $ENV{TEST_RL_HOOKS};

my $t = Test::Nginx->new()->has(qw/http/)->plan(8);

write_http($t, <<'EOF', 'worker_processes 2;');
rl_zone $arg_k zone=z:1m rate=1r/m;
server {
    listen 127.0.0.1:8080;
    add_header X-Worker $pid always;
    location /a.html { rl_req zone=z burst=1 nodelay; }
    location /free.html { }
}
EOF

$t->write_file($_, 'served') for qw/ a.html free.html /;
$t->todo_alerts()->run();

###############################################################################

# Once where the key is new, once where it is known.
for my $key (qw/ new known /) {
	is(statuses(8080, '/a.html?k=known'), '200', 'a key') if $key eq 'known';

	my ($held, $client) = hold_in_lock($t, "/a.html?k=$key");
	ok($held, "a worker is inside the lock, $key");

	my $began = time();
	kill 'KILL', $held;
	my $status = statuses(8080, "/a.html?k=$key");
	# 0.1 s are asked for; a machine may be busy.
	cmp_ok(time() - $began, '<', 0.3, 'another worker answers');
	is($status, '200', 'and lets the request pass');
	close $client;
}

# Of the request that never returned nothing may be charged, or all.
like(statuses(8080, ('/a.html?k=known') x 3), qr/^(?:200 )?503 503(?: 503)?$/, 'limited as before');

###############################################################################
