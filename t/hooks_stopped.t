#!/usr/bin/perl

# A worker that is stopped inside the table's lock, and may go on at any time: the others wait for it
# only for a moment, once, and let the requests pass that they cannot judge.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

use Time::HiRes qw/ time /;

###############################################################################

my $t = run_with_hooks(14);

###############################################################################

is(statuses(8080, ('/a.html?k=key') x 3), '200 200 503', 'a client at its limit');
is(statuses(8080, ('/a.html?k=other') x 3), '200 200 503', 'another one');

my ($held, $client) = hold_in_lock($t, '/a.html?k=key');
ok($held, 'a worker is inside the lock');

for my $signal (qw/ STOP CONT /) {
	kill $signal, $held;

	my $began = time();
	my $first = statuses(8080, '/a.html?k=key');
	# 0.05 s are the bound of a decision; a machine may be busy.
	cmp_ok(time() - $began, '<', 0.5, "answered after a bounded wait, $signal");
	is($first, '200', 'not judged');

	$began = time();
	is(statuses(8080, ('/a.html?k=key') x 20), join(' ', ('200') x 20), 'nor are the next ones');
	cmp_ok(time() - $began, '<', 0.9, 'for which nobody waits again');

	is(statuses(8080, '/a.html?k=other'), '503', 'others are limited as before');
}

kill 'KILL', $held;
ok(wait_until { statuses(8080, '/a.html?k=key') eq '503' }, 'limited again when it is dead');
close $client;

###############################################################################
