package Test::Nginx;

# The part of the interface of nginx-tests' library of this name that t/ uses, written anew: that
# library is in no package registry. What is here means what it means there, so that t/ also runs
# on the original, see t/README. Whatever else the tests share is in Test::RateLimit.
#
# Each test has a folder, ports and an nginx of its own, and ends only what it has started.

use warnings;
use strict;

# Before our END, which has to run before theirs: Perl runs the last one first.
use Test::More ();

use base qw/ Exporter /;

use Cwd qw/ abs_path /;
use File::Basename qw/ dirname /;
use File::Path qw/ remove_tree /;
use File::Temp qw/ tempdir /;
use IO::Socket::INET;
use POSIX qw/ WNOHANG /;
use Scalar::Util qw/ weaken /;
use Time::HiRes qw/ sleep time /;

our @EXPORT = qw/ log_in log_out http http_get http_head port /;
our @EXPORT_OK = qw/ http_start http_end http_content /;

# Where nothing is said, what `make module` has built.
my $built = abs_path(dirname(__FILE__) . '/../../..') . '/build/vendored';
if (!defined $ENV{TEST_NGINX_BINARY} && !defined $ENV{TEST_NGINX_GLOBALS}) {
	$ENV{TEST_NGINX_GLOBALS} = "load_module $built/ngx_http_rl_module.so;"
		. ($> == 0 ? ' user root;' : '');
}
our $NGINX = defined $ENV{TEST_NGINX_BINARY} ? $ENV{TEST_NGINX_BINARY} : "$built/nginx";

# Longest wait in seconds for a start, a file or a whole exchange with a client, and for a stop.
my $PATIENCE = 8;
my $STOP_PATIENCE = 10;

###############################################################################

my @tests;

# A test that is told to end still ends its nginx and removes its files, by END.
$SIG{$_} = sub { exit 1 } for qw/ INT TERM HUP /;

sub new {
	my ($class) = @_;

	Test::More::BAIL_OUT("no nginx at $NGINX: run make module, or set TEST_NGINX_BINARY")
		unless -x $NGINX;

	my $self = bless { pid => $$, alerts => 1, daemons => [] }, $class;
	$self->{testdir} = tempdir('rl-test-XXXXXXXX', TMPDIR => 1);

	push @tests, $self;
	weaken($tests[-1]);
	return $self;
}

# At the end of the test's file if nothing else refers to the object, else by END: either way
# before Test::More counts.
sub DESTROY { $_[0]->finish() }
END { local $?; $_->finish() for grep { defined } @tests }

sub finish {
	my ($self) = @_;
	local ($?, $@, $!);

	return if $self->{pid} != $$ || $self->{finished}++;

	$self->stop();
	$self->stop_daemons();

	if (Test::More->builder->expected_tests) {
		my $log = eval { $self->read_file('error.log') };
		$log = '' unless defined $log;

		Test::More->builder->todo_start('alerts') unless $self->{alerts};
		Test::More::is(join("\n", $log =~ /.+\[alert\].+/g), '', 'no alerts');
		Test::More->builder->todo_end() unless $self->{alerts};
		Test::More::is(join("\n", $log =~ /.+Sanitizer.+/g), '', 'no sanitizer errors');
	}

	print STDERR eval { $self->read_file('error.log') } || '' if $ENV{TEST_NGINX_CATLOG};
	if ($ENV{TEST_NGINX_LEAVE}) {
		Test::More::diag("left: $self->{testdir}");
	} else {
		remove_tree($self->{testdir});
	}
}

###############################################################################

# What a test needs of this nginx. Without it the whole file is skipped.

sub has {
	my ($self, @features) = @_;

	for my $feature (@features) {
		Test::More::plan(skip_all => "no $feature available")
			unless $self->has_module($feature);
	}
	return $self;
}

# Modules of http that are built unless configure is told otherwise.
my %BUILTIN = map { $_ => 1 } qw/ access auth_basic autoindex charset geo gzip limit_conn limit_req
	map mirror proxy referer rewrite split_clients ssi userid /;

# A name, or a regular expression for the arguments of configure.
sub has_module {
	my ($self, $feature) = @_;

	my $args = $self->configure_args();
	return $args !~ /--without-http(?!\S)/ if $feature eq 'http';
	return $args !~ /--without-http_${feature}_module/ if $BUILTIN{$feature};
	return $args =~ /--with-(?:http_)?${feature}_module/ if $feature =~ /^\w+$/;
	return $args =~ /$feature/;
}

sub has_version {
	my ($self, $need) = @_;

	my ($is) = $self->configure_args() =~ m!nginx version: nginx/([\d.]+)!
		or return 0;
	my @is = split /\./, $is;
	for my $part (split /\./, $need) {
		my $order = (shift @is || 0) <=> $part;
		return $order > 0 if $order;
	}
	return 1;
}

sub configure_args {
	my ($self) = @_;

	$self->{configure_args} = `'$NGINX' -V 2>&1` unless defined $self->{configure_args};
	return $self->{configure_args};
}

sub has_daemon {
	my ($self, $daemon) = @_;

	Test::More::plan(skip_all => "$daemon not found")
		unless grep { -x "$_/$daemon" } split /:/, $ENV{PATH};
	return $self;
}

# Counts the two checks of `finish`.
sub plan {
	my ($self, $tests) = @_;

	Test::More::plan(tests => $tests + 2);
	return $self;
}

# For a test that makes nginx raise alerts.
sub todo_alerts {
	my ($self) = @_;

	$self->{alerts} = 0;
	return $self;
}

###############################################################################

# Files of the test.

sub testdir { $_[0]->{testdir} }

sub read_file {
	my ($self, $name) = @_;

	open my $file, '<', "$self->{testdir}/$name" or die "Can't open $name: $!\n";
	local $/;
	my $content = <$file>;
	return defined $content ? $content : '';
}

sub write_file {
	my ($self, $name, $content) = @_;

	open my $file, '>', "$self->{testdir}/$name" or die "Can't create $name: $!\n";
	binmode $file;
	print $file $content;
	close $file or die "Can't write $name: $!\n";
	return $self;
}

sub write_file_expand {
	my ($self, $name, $content) = @_;

	$self->{has_globals} = 1 if $content =~ /%%TEST_GLOBALS%%/;
	$content =~ s/%%TEST_GLOBALS%%/$self->globals()/ge;
	$content =~ s/%%TEST_GLOBALS_HTTP%%/$self->globals_http()/ge;
	$content =~ s/%%TESTDIR%%/$self->{testdir}/g;
	$content =~ s/127\.0\.0\.1:(8\d\d\d)(?!\d)/'127.0.0.1:' . port($1)/ge;
	$content =~ s/%%PORT_(\d+)%%/port($1)/ge;

	return $self->write_file($name, $content);
}

sub globals {
	my ($self) = @_;

	return "pid $self->{testdir}/nginx.pid;\n"
		. "error_log $self->{testdir}/error.log debug;\n"
		. ($ENV{TEST_NGINX_GLOBALS} || '') . "\n";
}

sub globals_http {
	my ($self) = @_;

	my $conf = "root $self->{testdir};\naccess_log $self->{testdir}/access.log;\n";
	my @temp = ('client_body', grep { $self->configure_args() !~ /--without-http_${_}_module/ }
		qw/ proxy fastcgi uwsgi scgi /);
	$conf .= "${_}_temp_path $self->{testdir}/${_}_temp;\n" for @temp;
	return $conf . ($ENV{TEST_NGINX_GLOBALS_HTTP} || '') . "\n";
}

###############################################################################

# Ports: a configuration says 8080 and gets one that nobody else has. Each is kept by a socket that
# is bound but does not listen: the kernel then gives the port to nobody who asks for any, while
# nginx, which asks for this very one and reuses addresses as we do, gets it.

my %ports;

sub port {
	my ($number) = @_;

	if (!$ports{$number}) {
		my $socket = IO::Socket::INET->new(
			Proto => 'tcp', LocalAddr => '127.0.0.1', LocalPort => 0, ReuseAddr => 1,
		) or die "Can't reserve a port: $!\n";
		$ports{$number} = $socket;
	}
	return $ports{$number}->sockport();
}

###############################################################################

# Starting and stopping.

sub run {
	my ($self, $file) = @_;

	if (defined $file) {
		open my $conf, '<', $file or die "Can't open $file: $!\n";
		local $/;
		$self->write_file_expand('nginx.conf', <$conf>);
	}

	my $testdir = $self->{testdir};
	my @globals = $self->{has_globals} ? ()
		: ('-g', "pid $testdir/nginx.pid; error_log $testdir/error.log debug;");

	unlink "$testdir/nginx.pid";
	# As nginx itself does once it has read its configuration.
	my $pid = start(sub {
		open STDERR, '>>', "$testdir/error.log" or die "Can't open error.log: $!\n";
		exec { $NGINX } $NGINX, '-p', "$testdir/", '-c', 'nginx.conf', '-e', 'error.log', @globals;
	});

	# nginx listens before it writes the file.
	if (!$self->waitforfile("$testdir/nginx.pid", $pid)) {
		kill 'TERM', $pid;
		my $log = eval { $self->read_file('error.log') } || '';
		Test::More::diag($1) while $log =~ /^(nginx: .*\[(?:emerg|alert)\].*)/mg;
		die "Can't start nginx\n";
	}

	$self->{nginx} = $pid;
	return $self;
}

# For features that `nginx -V` does not tell of.
sub try_run {
	my ($self, $message) = @_;

	return $self if eval { $self->run() };
	Test::More::plan(skip_all => $message);
}

sub start {
	my (@command) = @_;

	my $pid = fork();
	die "Can't fork: $!\n" unless defined $pid;
	return $pid if $pid;

	if (ref $command[0] eq 'CODE') {
		my $code = shift @command;
		$SIG{$_} = 'DEFAULT' for qw/ INT TERM HUP /;
		eval { $code->(@command); 1 } or warn $@;
	} else {
		exec { $command[0] } @command;
	}
	# Not `exit`: the END of the test is its parent's business.
	POSIX::_exit(1);
}

sub run_daemon {
	my ($self, @command) = @_;

	push @{ $self->{daemons} }, start(@command);
	return $self;
}

sub reload {
	my ($self) = @_;

	kill 'HUP', $self->{nginx} if $self->{nginx};
	return $self;
}

sub stop {
	my ($self) = @_;

	my $pid = delete $self->{nginx} or return $self;
	end($pid, 'QUIT', $STOP_PATIENCE);
	return $self;
}

sub stop_daemons {
	my ($self) = @_;

	end($_, 'TERM', $PATIENCE) for splice @{ $self->{daemons} };
	return $self;
}

# nginx's master answers TERM by killing workers that do not go; KILL is for a master that hangs.
sub end {
	my ($pid, $signal, $patience) = @_;

	for my $step ($signal, 'TERM', 'KILL') {
		# Nobody else would end the workers of a master that is killed.
		my @workers = $step eq 'KILL' ? split ' ', `pgrep -P $pid` : ();
		kill $step, $pid, @workers;
		return if wait_until($patience, sub { waitpid($pid, WNOHANG) != 0 });
		Test::More::diag("process $pid is still there $patience s after $step");
	}
}

sub wait_until {
	my ($seconds, $test) = @_;

	my $deadline = time() + $seconds;
	while (1) {
		return 1 if $test->();
		return 0 if time() > $deadline;
		sleep(0.01);
	}
}

# Waits for a file, or until the process that should make it has ended.
sub waitforfile {
	my ($self, $file, $pid) = @_;

	my $ended;
	wait_until($PATIENCE, sub {
		return 1 if -s $file || $ended;
		$ended = $pid && waitpid($pid, WNOHANG) != 0;
		return 0;
	});
	return -e $file;
}

sub waitforsocket {
	my ($self, $peer) = @_;

	return wait_until($PATIENCE, sub { IO::Socket::INET->new(Proto => 'tcp', PeerAddr => $peer) });
}

###############################################################################

# HTTP/1. A request is text; the answer is all that comes until nginx closes.

sub http_get {
	my ($uri, %extra) = @_;

	return http("GET $uri HTTP/1.0\nHost: localhost\n\n", %extra);
}

sub http_head {
	my ($uri, %extra) = @_;

	return http("HEAD $uri HTTP/1.0\nHost: localhost\n\n", %extra);
}

sub http {
	my ($request, %extra) = @_;

	my $socket = http_start($request, %extra);
	return $socket if $extra{start} || !$socket;
	return http_end($socket);
}

sub http_start {
	my ($request, %extra) = @_;

	return in_time(sub {
		my $socket = $extra{socket} || IO::Socket::INET->new(
			Proto => 'tcp', PeerAddr => '127.0.0.1:' . port(8080), %extra,
		) or die "Can't connect to nginx: $!\n";

		log_out($request);
		$socket->print($request);
		sleep($extra{sleep}) if $extra{sleep};
		return '' if $extra{aborted};

		if (defined $extra{body}) {
			log_out($extra{body});
			$socket->print($extra{body});
		}
		return $socket;
	});
}

sub http_end {
	my ($socket) = @_;

	return in_time(sub {
		local $/;
		my $reply = $socket->getline();
		$socket->close();
		log_in(defined $reply ? $reply : '(nothing)');
		return $reply;
	});
}

sub in_time {
	my ($code) = @_;

	my $result = eval {
		local $SIG{ALRM} = sub { die "timeout\n" };
		local $SIG{PIPE} = sub { die "sigpipe\n" };
		alarm($PATIENCE);
		my $result = $code->();
		alarm(0);
		$result;
	};
	alarm(0);
	log_in("died: $@") if $@;
	return $result;
}

# The body of an answer.
sub http_content {
	my ($answer) = @_;

	return undef unless defined $answer && $answer =~ /\A(.*?)\x0d?\x0a\x0d?\x0a(.*)\z/s;
	my ($head, $body) = ($1, $2);
	return $body unless $head =~ /^Transfer-Encoding:\s*chunked/mi;

	my $content = '';
	while ($body =~ s/\A([0-9a-f]+)\x0d\x0a//i) {
		return $content if hex($1) == 0;
		$content .= substr($body, 0, hex($1), '');
		$body =~ s/\A\x0d\x0a//;
	}
	return $content . '[no-last-chunk]';
}

sub log_out { log_core('>>', @_) }
sub log_in { log_core('<<', @_) }

sub log_core {
	my ($prefix, $text) = @_;

	return unless $ENV{TEST_NGINX_VERBOSE};
	substr($text, 2048) = '(...)' if length $text > 2048;
	for my $line (split /\n/, $text) {
		$line =~ s/([^\x20-\x7e])/sprintf '\\x%02x', ord $1/ge;
		print "# $prefix $line\n";
	}
}

###############################################################################

1;
