#!/usr/bin/perl

# A panic in the module does not reach nginx, whichever callback it comes from: it is logged, a request
# that waits for the callback is answered with 500, no lock is left, and the workers serve on.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

needs_hooks();

# Callbacks of a configuration that is read; a zone of such a name makes the next one panic. In the
# reload that reads the zone, or in the one after.
my @same = qw/ rl_zone rl_req create_loc_conf merge_loc_conf postconfiguration zone_init /;
my @next = qw/ create_main_conf preconfiguration /;

my $t = Test::Nginx->new()->has(qw/http ssi mirror auth_request/)->plan(31 + 2 * (@same + @next));

configure('');
$t->write_file('ssi.html', '{<!--#include virtual="/part.html" -->}');
$t->write_file("$_.html", 'served') for qw/ a arm held auth mirror part /;
$t->todo_alerts()->run();

###############################################################################

# The preaccess handler, outside and inside the lock of a bucket.
wait_until { worker_pids($t) == 2 };
my @workers = worker_pids($t);
is(statuses(8080, ('/a.html?k=a&rl_panic=1') x 4), '500 500 500 500', 'in the handler');
is(statuses(8080, ('/a.html?k=a') x 3), '200 200 503', 'then limited as before');
is(statuses(8080, '/a.html?k=b', '/a.html?k=b&rl_panic=lock'), '200 500', 'inside the lock of a known key');
is(statuses(8080, ('/a.html?k=b') x 12), join(' ', 200, (503) x 11), 'which is free for both workers');
is(statuses(8080, '/a.html?k=c&rl_panic=lock'), '500', 'inside the locks of a new key');
is(statuses(8080, ('/a.html?k=c') x 12), join(' ', 200, 200, (503) x 10), 'which are free too');

# The variable is empty then, and known again the next time.
is(after_panic_in('variable', ('/a.html?k=d') x 2), '200+ 200+PASSED', 'in the variable');

# A request that is held: the second, by 0.2 s.
is(after_panic_in('delay', ('/held.html') x 2), '200+PASSED 500+DELAYED', 'when its wait is over');
is(statuses(8080, '/held.html'), '200', 'held as before');

# A subrequest that is held ends with the error, and its parent goes on.
for my $callback (qw/ delay delay_timer /) {
	is(after_panic_in($callback, ('/auth.html') x 2), '200+PASSED 500+DELAYED',
		"$callback of a subrequest that decides");
	like(body_after_panic_in($callback, ('/ssi.html') x 2), qr/\A\{.*500 Internal Server Error.*\}\z/s,
		"$callback of a subrequest that is a part");
	# The mirror has not been judged when its client is answered, and keeps back the next request.
	is(after_panic_in($callback, ('/mirror.html') x 2, '/free.html'), '200+ 200+ 404+',
		"$callback of a subrequest in the background");
}
is(after_panic_in('delay_clean-up', ('/auth.html') x 3), '200+PASSED 200+DELAYED 200+DELAYED', 'in its clean-up');

is(join(' ', worker_pids($t)), "@workers", 'the workers live');
my %times = (preaccess => 6, variable => 1, delay => 4, 'delay timer' => 3, 'delay clean-up' => 1);
is(caught($_), $times{$_}, "logged, $_") for sort keys %times;
like($t->read_file('error.log'), qr/panicked at src\/$_\/hooks\.rs:\d+/, "with its place, $_") for qw/ nginx store /;

# A configuration that is read while the workers serve is given up.
for my $callback (@same, @next) {
	configure("rl_zone \$arg_k zone=panic_$callback:32k;");
	if (grep { $_ eq $callback } @next) {
		reload_fully($t);
		@workers = worker_pids($t);
	}
	$t->reload();
	ok(wait_until { caught($callback =~ tr/_/ /r) || caught($callback) }, "$callback, logged");
	is(statuses(8080, ('/a.html?k=a') x 2) . " @{[worker_pids($t)]}", "503 503 @workers", 'the workers serve on');
}

# The clean-up of a worker that ends.
configure('');
after_panic_in('clean-up');
ok(reload_fully($t), 'reloaded');
is(caught('clean-up'), 1, 'logged, clean-up');
is(statuses(8080, ('/a.html?k=a') x 2), '503 503', 'limited as before');

# A worker that cannot begin ends, since it would take locks by its master's name. nginx does not start it
# again; a reload does.
configure('rl_zone $arg_k zone=panic_init_process:32k;');
$t->reload();
ok(wait_until { caught('init_process') == 2 }, 'logged, init_process');
configure('rl_zone $arg_k zone=panic_nowhere:32k;');
$t->reload();
ok(wait_until { worker_pids($t) == 2 }, 'workers that can');
is(statuses(8080, ('/a.html?k=a') x 2), '503 503', 'limited as before');

my @alerts = grep { !/a panic in the [\w -]+ callback was caught|exited with fatal code 2/ } log_lines($t, qr/\[alert\]/);
is(join("\n", @alerts), '', 'no other alerts');

###############################################################################

sub configure {
	my ($first) = @_;

	write_http($t, <<"EOF", 'worker_processes 2;');
$first
rl_zone \$arg_k zone=z:1m    rate=1r/m;
rl_zone \$uri   zone=arm:1m  rate=1000r/s;
rl_zone \$uri   zone=slow:1m rate=5r/s;
server {
    listen 127.0.0.1:8080;
    add_header X-Limit "\$rl_req_status" always;
    log_not_found off;
    location /a.html    { rl_req zone=z burst=1 nodelay; }
    location /arm.html  { rl_req zone=arm burst=1000 nodelay; add_header X-Armed yes; }
    location /held.html { rl_req zone=slow burst=5; }
    location /part.html { rl_req zone=slow burst=5; }
    location /auth.html   { auth_request /part.html; }
    location /ssi.html    { ssi on; }
    location /mirror.html { mirror /part.html; }
}
EOF
}

# How often a panic in a callback has been logged.
sub caught {
	my ($callback) = @_;

	return scalar(() = $t->read_file('error.log') =~ /\[alert\] .*rl: a panic in the \Q$callback\E callback was caught/g);
}

# Answers to requests of one connection, and so of one worker, in which the callback will panic. What
# has been charged before has leaked away.
sub answers_after_panic_in {
	my ($callback, @uris) = @_;

	select undef, undef, undef, 1;
	my $client = connection(8080)->get("/arm.html?rl_panic=$callback");
	$client->answer();
	return map { $client->get($_)->answer() } @uris;
}

# Status and what the variable says of each.
sub after_panic_in {
	return join ' ', map { status($_) . '+' . (/^X-Limit: (\w+)/m ? $1 : '') } answers_after_panic_in(@_);
}

# Of the last.
sub body_after_panic_in {
	return body((answers_after_panic_in(@_))[-1]);
}

###############################################################################
