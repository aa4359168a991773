#!/usr/bin/perl

# A panic in the module does not reach nginx: it is logged, its request is answered with 500, and the
# worker serves on.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = run_with_hooks(6);

###############################################################################

my @workers = sort(worker_pids($t));

is(statuses(8080, ('/a.html?k=a&rl_panic=1') x 4), '500 500 500 500', 'panics');
is(join(' ', sort(worker_pids($t))), "@workers", 'the workers live');
is(statuses(8080, ('/a.html?k=a') x 3), '200 200 503', 'and limit as before');

my $log = $t->read_file('error.log');
like($log, qr/\[alert\] .*a panic in the preaccess callback was caught/, 'logged by its callback');
like($log, qr/panicked at src\/nginx\/hooks\.rs:\d+/, 'and by its place');
unlike($log, qr/exited on signal/, 'nobody has died');

###############################################################################
