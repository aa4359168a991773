#!/usr/bin/perl

# A worker that is killed while it works leaves nothing that would stop the others, and what has been
# charged stays so, under each algorithm. Ten times as many are killed with RL_LONG=1.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;
use Time::HiRes qw/ time /;

###############################################################################

# All pass six at once and hold none. A queue keeps the same record as gcra.
my %limits = (
	leaky => [ 'rate=1r/m', 'burst=5 nodelay' ],
	gcra => [ 'rate=1r/h', 'burst=5 nodelay' ],
	fixed_window => [ 'rate=6r/w', '' ],
	anchored_window => [ 'rate=6r/h', '' ],
	sliding_window => [ 'rate=6r/w', '' ],
	sliding_log => [ 'rate=6r/h', '' ],
);
my @names = sort keys %limits;
my $KILLS = $ENV{RL_LONG} ? 200 : 20;
my $used_up = '200 200 200 200 200 200 503';

my $t = Test::Nginx->new()->has(qw/http/)->plan(3 * @names + 6);

my ($zones, $locations) = ('', '');
for my $name (@names) {
	my ($rate, $burst) = @{$limits{$name}};
	$zones .= "rl_zone \$arg_k zone=$name:1m $rate algorithm=$name;\n";
	$locations .= "location /$name.html { rl_req zone=$name $burst; }\n";
}
write_http($t, <<"EOF", 'worker_processes 2;');
error_log %%TESTDIR%%/error.log info;
$zones
server {
    listen 127.0.0.1:8080;
    keepalive_requests 100000;
    $locations
}
EOF

$t->write_file("$_.html", 'served') for @names;
$t->todo_alerts()->run();

###############################################################################

is(statuses(8080, ("/$_.html?k=victim") x 7), $used_up, "$_, a client at its limit") for @names;

# Clients of few keys and of many; they come again when their connection breaks, and write down where
# it did not break and no answer came.
for my $number (1 .. 4) {
	my $left = $t->testdir() . "/left$number";
	$t->run_daemon(sub {
		my @uris = map {
			"/$names[$_ % @names].html?k=" . ($number % 2 ? $_ % 3 : int rand 2000)
		} 1 .. 60;
		while (1) {
			my $client = eval { connection(8080) } or next;
			my $began = time();
			do { $began = time(); $client->get(@uris) }
				until grep { status($client->answer()) eq 'none' } @uris;
			next if time() - $began < 5;
			open my $file, '>>', $left or next;
			print $file time() - $began, "\n";
		}
	});
}

my $killed = 0;
for (1 .. $KILLS) {
	select undef, undef, undef, 0.05;
	my @workers = worker_pids($t);
	$killed += kill 'KILL', $workers[rand @workers] if @workers;
}
cmp_ok($killed, '>=', $KILLS * 3 / 4, 'workers killed under load');
$t->stop_daemons();
is(join(' ', glob $t->testdir() . '/left*'), '', 'who was not on a killed worker got an answer');

ok(wait_until { worker_pids($t) == 2 }, 'master has started others');

# Many keys, so that all parts of the table are asked, by many connections, so that both workers are.
my @slow;
for my $number (1 .. 2000) {
	my $began = time();
	my $status = statuses(8080, "/$names[$number % @names].html?k=$number");
	push @slow, "$number: $status" if $status !~ /^(200|503)$/ || time() - $began > 1;
}
is("@slow", '', 'every key is answered soon');
for my $name (@names) {
	is(statuses(8080, "/$name.html?k=victim"), '503', "$name, the client is still limited");
	is(statuses(8080, ("/$name.html?k=new") x 7), $used_up, "$name, so is a new one");
}

my @alerts = grep { !/worker process \d+ exited on signal 9/ } log_lines($t, qr/\[alert\]/);
is(join("\n", @alerts), '', 'no other alerts');
is(join("\n", log_lines($t, qr/\[(?:crit|emerg)\]|panicked/)), '', 'nothing else alarming in the log');

###############################################################################
