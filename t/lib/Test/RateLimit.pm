package Test::RateLimit;

# What the tests of rl_req share beyond nginx-tests' interface. Works on that interface alone, be it
# our Test::Nginx or the original.
#
# A test writes its configuration once, for limit_req, and gets it twice in one nginx: as written,
# on port 8080, and migrated to rl_req as a user would do it, on port 8090. The two are the
# "sides", called by the name of their directive.

use warnings;
use strict;

use base qw/ Exporter /;

use IO::Select;
use IO::Socket::INET;
use POSIX qw//;
use Test::More;
use Test::Nginx qw/ :DEFAULT http_start http_end http_content /;
use Time::HiRes qw/ sleep time /;

our @EXPORT = qw/
	migrate write_both write_http is_on_both
	get ask start status statuses body at_once waits in_child connection address
	log_of log_lines access_log_of log_is_calm
	reload_fully worker_pids needs_hooks run_with_hooks hold_in_lock wait_until
/;

my @SIDES = qw/ limit_req rl_req /;
my %PORT = (limit_req => 8080, rl_req => 8090);

# Longest wait in seconds for anything that should happen.
my $PATIENCE = 8;

# Some tests write to connections that nginx has closed.
$SIG{PIPE} = 'IGNORE';

###############################################################################

# The substitutions of the README; and another zone and port, so that there is room for both.
sub migrate {
	my ($conf) = @_;

	$conf =~ s/limit_req_zone/rl_zone/g;
	$conf =~ s/limit_req/rl_req/g;
	$conf =~ s/\bzone=(?=\w)/zone=rl_/g;
	$conf =~ s/\b808(\d)\b/809$1/g;
	return $conf;
}

# Writes nginx.conf with both sides. Options: `main` and `http`, text that is there once on these
# levels.
sub write_both {
	my ($t, $conf, %once) = @_;

	return write_http($t, ($once{http} || '') . $conf . migrate($conf), $once{main});
}

# Writes nginx.conf with this in `http`, and perhaps something on the main level.
sub write_http {
	my ($t, $http, $main) = @_;

	# All tests may be run with so many workers, and nginx takes the directive once.
	$main = '' unless defined $main;
	$main =~ s/worker_processes\s+\d+;// if ($ENV{TEST_NGINX_GLOBALS} || '') =~ /worker_processes/;
	return $t->write_file_expand('nginx.conf', <<EOF);
%%TEST_GLOBALS%%
daemon off;
$main
events { }
http {
%%TEST_GLOBALS_HTTP%%
$http
}
EOF
}

# Asks the same of both sides; two tests. The code runs in a process for each side, so that nobody
# has to wait twice.
sub is_on_both {
	my ($name, $expected, $code) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my %asked = map { $_ => in_child($code, $_) } @SIDES;
	for my $side (@SIDES) {
		my $from = $asked{$side};
		local $/;
		is(<$from>, $expected, "$name, $side");
		close $from;
	}
}

# Where to read what the code returns.
sub in_child {
	my ($code, @args) = @_;

	STDOUT->flush();
	my $pid = open my $from, '-|';
	die "Can't fork: $!\n" unless defined $pid;
	return $from if $pid;

	my $result = eval { $code->(@args) };
	print STDOUT defined $result ? $result : "died: $@";
	STDOUT->flush();
	# Not `exit`: the END of the test is its parent's business.
	POSIX::_exit(0);
}

###############################################################################

# Where a side listens. Instead of a side's name all of these also take a port's number.
sub address {
	my ($side) = @_;

	return '127.0.0.1:' . port($PORT{$side} || $side);
}

# One request of HTTP/1.0.
sub get {
	my ($side, $uri, %extra) = @_;

	return http_get($uri, PeerAddr => address($side), %extra);
}

# One request as it is written.
sub ask {
	my ($side, $request, %extra) = @_;

	return http($request, PeerAddr => address($side), %extra);
}

# A request whose answer is fetched later, by http_end.
sub start {
	my ($side, $uri, %extra) = @_;

	return get($side, $uri, start => 1, %extra);
}

sub status {
	my ($answer) = @_;

	return defined $answer && $answer =~ m!\AHTTP/1\.[01] (\d{3}) ! ? $1 : 'none';
}

# Of requests one after the other.
sub statuses {
	my ($side, @uris) = @_;

	return join ' ', map { status(get($side, $_)) } @uris;
}

sub body {
	my ($answer) = @_;

	my $content = http_content($answer);
	return defined $content ? $content : 'none';
}

# Requests at the same time, each on a connection of its own. Returns [status, seconds since the
# first was sent, answer] of each in the order in which the answers were complete.
sub at_once {
	my ($side, @uris) = @_;

	my $began = time();
	my $open = IO::Select->new();
	for my $uri (@uris) {
		my $socket = start($side, $uri) or die "No connection\n";
		$socket->blocking(0);
		$open->add($socket);
		# So that nginx reads them in this order.
		sleep(0.005);
	}

	my (%answer, @done);
	while ($open->count()) {
		my @ready = $open->can_read($began + $PATIENCE - time()) or last;
		for my $socket (@ready) {
			my $answer = \$answer{$socket};
			$$answer = '' unless defined $$answer;
			next if sysread $socket, $$answer, 65536, length $$answer;
			push @done, [ status($$answer), time() - $began, $$answer ];
			$open->remove($socket);
		}
	}
	return @done, map { [ 'none', time() - $began, '' ] } $open->handles();
}

# Statuses of what `at_once` returns, each with its wait in whole steps of so many seconds: longer
# ones belong to a machine that is busy, shorter ones only to rounding.
sub waits {
	my ($step, @answers) = @_;

	my $rounding = 0.03;
	return join ' ', sort map { "$_->[0]+" . int(($_->[1] + $rounding) / $step) } @answers;
}

# Of HTTP/1.1, for several requests: see below.
sub connection {
	my ($side) = @_;

	return Test::RateLimit::Connection->new(address($side));
}

###############################################################################

sub wait_until(&;$) {
	my ($test, $seconds) = @_;

	my $deadline = time() + ($seconds || $PATIENCE);
	until ($test->()) {
		return 0 if time() > $deadline;
		sleep(0.01);
	}
	return 1;
}

###############################################################################

# What the error log says of a side's limits: level and message, without time and process, and
# with the zones named as in the test.
sub log_of {
	my ($t, $side) = @_;

	my $zone = $side eq 'rl_req' ? qr/by zone "rl_/ : qr/by zone "(?!rl_)/;
	return map { s/by zone "rl_/by zone "/r } log_lines($t, $zone);
}

sub log_lines {
	my ($t, $lines) = @_;

	return map { s/\A[\d\/]+ [\d:]+ (\[\w+\]) \d+#\d+: (?:\*\d+ )?/$1 /r } grep { /$lines/ }
		split /\n/, $t->read_file('error.log');
}

# Lines of a side's own access log that match, once there are so many: nginx writes them after the
# answer. Not waited for longer than a client would notice.
sub access_log_of {
	my ($t, $side, $match, $count) = @_;

	my @lines;
	wait_until {
		@lines = grep { /$match/ } split /\n/, $t->read_file("$side.log");
		@lines >= $count;
	} 2;
	return @lines;
}

# Nothing beyond what limits say; one test.
sub log_is_calm {
	my ($t) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $alarming = qr/\[(?:crit|alert|emerg)\]|panicked/;
	is(join("\n", log_lines($t, $alarming)), '', 'nothing alarming in the log');
}

###############################################################################

sub worker_pids {
	my ($t) = @_;

	my ($master) = $t->read_file('nginx.pid') =~ /(\d+)/;
	my @children;
	for my $name (glob '/proc/[0-9]*/stat') {
		open my $file, '<', $name or next;
		my $stat = <$file>;
		# It may have ended meanwhile.
		next unless defined $stat && $stat =~ /\A(\d+) \(.*\) (\w) (\d+) /s;
		push @children, $1 if $3 == $master && $2 ne 'Z';
	}
	# Not the sorting itself, which has no value as a number.
	@children = sort { $a <=> $b } @children;
	return @children;
}

# Reloads, and waits until new workers have taken over and the old ones are gone.
sub reload_fully {
	my ($t) = @_;

	my %old = map { $_ => 1 } worker_pids($t);
	$t->reload();
	return wait_until {
		my @now = worker_pids($t);
		@now == keys %old && !grep { $old{$_} } @now;
	};
}

# Runs two workers of a module that was built with test hooks, which only `make test` does; a test
# of PLAN checks. /a.html is limited, /free.html is not, and each answer names its worker.
sub run_with_hooks {
	my ($plan) = @_;

	needs_hooks();
	my $t = Test::Nginx->new()->has(qw/http/)->plan($plan);
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
	return $t->todo_alerts()->run();
}

# Ends the test where nginx has a module as people install it: no request can stop that one or tell
# it the time, and a test of that must not pass for one that was made.
sub needs_hooks {
	Test::More::plan(skip_all => 'needs the test build: scripts/build-vendored test-clock, then TEST_RL_HOOKS=1')
		unless $ENV{TEST_RL_HOOKS};
}

# Only with a module that was built with test hooks: a request with this argument never returns from
# the table, nor does its worker. Returns that worker, of two, and the client, which waits.
sub hold_in_lock {
	my ($t, $uri) = @_;

	my $client = start(8080, "$uri&rl_hold=1");
	# Until it has got there. A worker that sleeps accepts nothing more.
	sleep(0.2);
	my ($other) = get(8080, '/free.html') =~ /^X-Worker: (\d+)/m;
	my ($held) = grep { $_ != $other } worker_pids($t);
	return ($held, $client);
}

###############################################################################

package Test::RateLimit::Connection;

use IO::Select;
use Time::HiRes qw/ time /;

sub new {
	my ($class, $address) = @_;

	my $socket = IO::Socket::INET->new(Proto => 'tcp', PeerAddr => $address)
		or die "Can't connect to nginx: $!\n";
	return bless { socket => $socket, read => '' }, $class;
}

sub write {
	my ($self, $text) = @_;

	$self->{socket}->print($text);
	return $self;
}

# Requests without a body, pipelined.
sub get {
	my ($self, @uris) = @_;

	return $self->write(join '', map { "GET $_ HTTP/1.1\nHost: localhost\n\n" } @uris);
}

# The next whole answer, or what there is of it when the time is over or the connection closed.
sub answer {
	my ($self, $seconds) = @_;

	my $deadline = time() + ($seconds || $PATIENCE);
	while (1) {
		my $length = $self->length_of_first();
		return substr $self->{read}, 0, $length, '' if $length;

		my $left = $deadline - time();
		return $self->{read} if $left <= 0
			|| !IO::Select->new($self->{socket})->can_read($left)
			|| !sysread $self->{socket}, $self->{read}, 65536, length $self->{read};
	}
}

# Of the first answer, 0 unless all of it is there.
sub length_of_first {
	my ($self) = @_;

	my $end = index $self->{read}, "\x0d\x0a\x0d\x0a";
	return 0 if $end < 0;
	my ($head, $length) = (substr($self->{read}, 0, $end + 2), $end + 4);

	if ($head !~ /^Transfer-Encoding:\s*chunked/mi) {
		$length += $1 if $head =~ /^Content-Length:\s*(\d+)/mi;
		return length $self->{read} >= $length ? $length : 0;
	}

	# Goes on at the chunk that was not whole the last time.
	$length = $self->{chunk} if $self->{chunk};
	while (substr($self->{read}, $length, 20) =~ /\A([0-9a-f]+)\x0d\x0a/i) {
		my $next = $length + length($1) + 2 + hex($1) + 2;
		last if length $self->{read} < $next;
		$length = $next;
		next if hex $1;
		delete $self->{chunk};
		return $length;
	}
	$self->{chunk} = $length;
	return 0;
}

sub close {
	my ($self) = @_;

	$self->{socket}->close();
}

###############################################################################

1;
