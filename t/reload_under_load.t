#!/usr/bin/perl

# Reloads in quick succession while requests are being held and others come: each is answered after
# its own wait, none is lost, and what has been charged stays so. Ten times as many with RL_LONG=1.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

use Time::HiRes qw/ sleep /;

###############################################################################

my $RELOADS = $ENV{RL_LONG} ? 50 : 5;

my $t = Test::Nginx->new()->has(qw/http/)->plan($RELOADS + 5);

write_http($t, <<'EOF', 'worker_processes 2;');
error_log %%TESTDIR%%/error.log info;
rl_zone $arg_k zone=held:1m rate=1r/s;
rl_zone $arg_k zone=queue:1m rate=1r/s algorithm=leaky_queue;
rl_zone $arg_k zone=free:1m rate=1r/m algorithm=gcra;
server {
    listen 127.0.0.1:8080;
    location /held.html { rl_req zone=held burst=2; }
    location /queue.html { rl_req zone=queue burst=2; }
    location /free.html { rl_req zone=free burst=1 nodelay; }
}
EOF

$t->write_file("$_.html", 'served') for qw/ held queue free /;
$t->run();

###############################################################################

is(statuses(8080, ('/free.html?k=victim') x 3), '200 200 503', 'a client at its limit');

# One request a connection: nginx itself drops what is pipelined behind the last one of a worker.
for my $number (1 .. 2) {
	my $lost = $t->testdir() . "/lost$number";
	$t->run_daemon(sub {
		while (1) {
			my $status = statuses(8080, '/free.html?k=' . int rand 2000);
			next if $status =~ /^(?:200|503)$/;
			open my $file, '>>', $lost or next;
			print $file "$status\n";
		}
	});
}

my @held;
for my $number (1 .. $RELOADS) {
	my $location = $number % 2 ? 'held' : 'queue';
	push @held, in_child(sub { waits(1, at_once(8080, ("/$location.html?k=$number") x 3)) });
	# Until they are being held.
	sleep(0.1);
	$t->reload();
	sleep(0.2);
}
for my $number (1 .. $RELOADS) {
	my $from = $held[$number - 1];
	is(<$from>, '200+0 200+1 200+2', "held over reload $number");
}

$t->stop_daemons();
is(join(' ', glob $t->testdir() . '/lost*'), '', 'none of the others was lost');
ok(wait_until { worker_pids($t) == 2 }, 'the old workers are gone');
is(statuses(8080, '/free.html?k=victim'), '503', 'the client is still limited');
log_is_calm($t);

###############################################################################
