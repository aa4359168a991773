#!/usr/bin/perl

# rl-lab decides on the log of this nginx as this nginx did: at least 99 of 100 requests. The rest may
# differ, since the log has the time at which an answer ended, and lines of the same millisecond need
# not stand in the order in which they were judged.

use warnings;
use strict;

use Test::More;

use JSON::PP;
use Time::HiRes qw/ sleep /;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $lab = $ENV{TEST_RL_LAB};
plan(skip_all => 'needs rl-lab: cargo build --features lab, then TEST_RL_LAB=target/debug/rl-lab') unless $lab;

my %limits = (
	leaky => 'rate=40r/s burst=5 nodelay',
	gcra => 'rate=40r/s burst=5 nodelay',
	anchored_window => 'rate=10r/300ms',
	sliding_window => 'rate=10r/300ms',
	sliding_log => 'rate=10r/300ms',
);
my @names = sort keys %limits;

my $t = Test::Nginx->new()->has(qw/http/)->plan(2 * @names);
my $zones = join "\n", map { "rl_zone \$arg_k zone=$_:1m " . zone_part($_) . " algorithm=$_;" } @names;
my $locations = join "\n", map { "location = /$_.html { rl_req zone=$_ " . limit_part($_)
	. "; access_log %%TESTDIR%%/$_.log replayed; }" } @names;
write_http($t, <<"EOF");
$zones
rl_req_log_level info;
log_format replayed '\$msec \$arg_k \$rl_req_status';
server {
    listen 127.0.0.1:8080;
    $locations
}
EOF
$t->write_file("$_.html", 'served') for @names;
$t->run();

###############################################################################

my $requests = 300;
my $connection = connection(8080);
srand(7);
for (1 .. $requests) {
	my $key = int(rand(3));
	for my $name (@names) {
		$connection->get("/$name.html?k=$key");
		$connection->answer(5);
	}
	sleep(rand(0.008));
}
$t->stop();

for my $name (@names) {
	my $log = $t->read_file("$name.log");
	my $refused = () = $log =~ /REJECTED/g;
	cmp_ok($refused, '>', $requests / 20, "$name refuses some: $refused of $requests");

	my $file = $t->testdir() . "/$name.log";
	my $told = qx{$lab replay $file --log-format '\$msec \$arg_k \$rl_req_status' --key '\$arg_k' --output json --limit '$name $limits{$name}'};
	my ($limit) = @{decode_json($told)->{limits}};
	my $off = abs($limit->{refused} - $refused);
	cmp_ok($off, '<=', $requests / 100, "$name replayed: $limit->{refused} refused, nginx $refused");
}

###############################################################################

sub zone_part { return $limits{$_[0]} =~ s/ .*//r }
sub limit_part { return $limits{$_[0]} =~ s/^\S+ ?//r }

###############################################################################
