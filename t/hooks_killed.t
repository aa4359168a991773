#!/usr/bin/perl

# A worker that is killed inside the table's lock: the others go on at once.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

use Time::HiRes qw/ time /;

###############################################################################

my $t = run_with_hooks(8);

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
