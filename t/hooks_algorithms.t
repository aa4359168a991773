#!/usr/bin/perl

# Every algorithm through a real nginx on a virtual clock: the common stream and the timelines of the
# labs, request for request as the reference data say.

use warnings;
use strict;

use Test::More;

use FindBin;
use IO::Socket::INET;
use JSON::PP;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

needs_hooks();

# By the names of the reference data.
my %algorithm = (
	fixed_window => 'fixed_window',
	fixed_window_anchored => 'anchored_window',
	sliding_log => 'sliding_log',
	sliding_window_counter => 'sliding_window',
	token_bucket => 'token_bucket',
	gcra => 'gcra',
	leaky_queue => 'leaky_queue',
);

# Runs: where, rate, algorithm by the data's name, requests at once, times in ms, decisions.
my $traces = data('traces');
my @runs = map { [ 'stream', '5r/10s', $_->{algorithm}, 5, $traces->{stream}, $_->{decisions} ] }
	grep { $algorithm{$_->{algorithm}} } @{$traces->{summary}};
for my $lab (grep { $_->{segments} } @{data('labs')->{labs}}) {
	my ($params, $results) = @$lab{qw/ params results /};
	my $rate = "$params->{limit}r/$params->{period_ms}ms";
	my @times = map { my ($start, $step, $count) = @$_; map { $start + $_ * $step } 0 .. $count - 1 }
		@{$lab->{segments}};
	for my $of (sort keys %$results) {
		# Lab C names what is asked at once with the algorithm, the others for all of them.
		my ($name, $at_once) = $of =~ /^(\w+)(?: \w+=(\d+))?$/ or next;
		next unless $algorithm{$name};
		push @runs, [ "lab$lab->{lab}", $rate, $name, $at_once // $params->{burst}, \@times,
			$results->{$of}{decisions} ];
	}
}

my ($zones, $locations) = ('', '');
for my $n (0 .. $#runs) {
	my ($where, $rate, $name, $at_once) = @{$runs[$n]};
	$zones .= "rl_zone \$arg_k zone=z$n:1m rate=$rate algorithm=$algorithm{$name};\n";
	$locations .= "location /$n/ { rl_req zone=z$n " . limit($name, $at_once) . "; }\n";
}

my $t = Test::Nginx->new()->has(qw/http/)->plan(1 + @runs);
write_http($t, <<"EOF");
$zones
keepalive_requests 100000;
log_not_found off;
rl_req_log_level info;
server {
    listen 127.0.0.1:8080;
    $locations
}
EOF
$t->run();

###############################################################################

is(join(' ', map { my $where = $_; scalar grep { $_->[0] eq $where } @runs } qw/ stream labA labB labC labE /),
	'7 7 7 9 7', 'all of the data');
for my $n (0 .. $#runs) {
	my ($where, undef, $name, $at_once, $times, $decisions) = @{$runs[$n]};
	my $limit = limit($name, $at_once);
	is(decisions("/$n/", @$times), $decisions, "$where, $algorithm{$name} $limit");
}

###############################################################################

sub data {
	my ($name) = @_;

	open my $file, '<', "$FindBin::Bin/../tests/data/oracles/$name.json" or die "$name: $!\n";
	local $/;
	return decode_json(<$file>);
}

# The data count all requests at once, nginx those above the first; windows have no burst.
sub limit {
	my ($name, $at_once) = @_;

	my $burst = ($at_once // 1) > 1 ? 'burst=' . ($at_once - 1) : '';
	return $burst if $name eq 'leaky_queue';
	return "$burst nodelay" if $name eq 'gcra' || $name eq 'token_bucket';
	return '';
}

# A digit for each request: 1 if it is admitted, to a file that is not there. All on one connection,
# some sent at a time.
sub decisions {
	my ($uri, @times) = @_;

	my $connection = IO::Socket::INET->new('127.0.0.1:' . port(8080)) or die "No connection: $!\n";
	my ($decisions, $answers) = ('', '');
	local $SIG{ALRM} = sub { die "no answer\n" };
	alarm(60);
	while (my @some = splice(@times, 0, 50)) {
		print $connection map { "GET $uri?k=a&now=$_ HTTP/1.1\r\nHost: localhost\r\n\r\n" } @some;
		my $expected = length($decisions) + @some;
		while (length($decisions) < $expected) {
			sysread($connection, $answers, 65536, length($answers)) or die "closed\n";
			# Whole answers: a head, then as many bytes as it says.
			while ($answers =~ /^HTTP\/1\.1 (\d+)(.*?Content-Length: (\d+).*?\r\n\r\n)/s) {
				my ($status, $size) = ($1, $+[0] + $3);
				last if length($answers) < $size;
				$decisions .= $status == 503 ? 0 : $status == 404 ? 1 : '?';
				substr($answers, 0, $size) = '';
			}
		}
	}
	alarm(0);
	return $decisions;
}

###############################################################################
