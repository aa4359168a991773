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
my @names = sort keys %algorithm;

# Timelines: name, rate, requests at once, times in ms, decisions by algorithm.
my $traces = data('traces');
my @timelines = [ 'stream', '5r/10s', 5, $traces->{stream},
	{ map { $_->{algorithm} => $_->{decisions} } @{$traces->{summary}} } ];
for my $lab (grep { $_->{params}{burst} } @{data('labs')->{labs}}) {
	my ($params, $results) = @$lab{qw/ params results /};
	my @times = map { my ($start, $step, $count) = @$_; map { $start + $_ * $step } 0 .. $count - 1 }
		@{$lab->{segments}};
	push @timelines, [ "lab$lab->{lab}", "$params->{limit}r/$params->{period_ms}ms", $params->{burst},
		\@times, { map { $_ => $results->{$_}{decisions} } @names } ];
}

my ($zones, $locations) = ('', '');
for my $timeline (@timelines) {
	my ($where, $rate, $at_once) = @$timeline;
	for my $name (@names) {
		$zones .= "rl_zone \$arg_k zone=$where-$name:1m rate=$rate algorithm=$algorithm{$name};\n";
		$locations .= "location /$where/$name { rl_req zone=$where-$name " . limit($name, $at_once) . "; }\n";
	}
}

my $t = Test::Nginx->new()->has(qw/http/)->plan(@timelines * @names);
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

for my $timeline (@timelines) {
	my ($where, undef, undef, $times, $decisions) = @$timeline;
	for my $name (@names) {
		is(decisions("/$where/$name", @$times), $decisions->{$name}, "$where, $algorithm{$name}");
	}
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

	return 'burst=' . ($at_once - 1) if $name eq 'leaky_queue';
	return 'burst=' . ($at_once - 1) . ' nodelay' if $name eq 'gcra' || $name eq 'token_bucket';
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
