#!/usr/bin/perl

# Another algorithm, or another number of requests that a sliding log keeps, starts the zone anew,
# with a notice; another rate or window keeps what has been charged.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http/)->plan(17);

write_http($t, <<'CONF', 'error_log %%TESTDIR%%/notice.log notice;');
rl_zone $arg_k zone=z:1m rate=1r/h algorithm=gcra;
server {
    listen 127.0.0.1:8080;
    location /a.html { rl_req zone=z; }
}
CONF
$t->write_file('a.html', 'served');
$t->run();

my $conf = $t->read_file('nginx.conf');

###############################################################################

is(statuses(8080, ('/a.html?k=a') x 2), '200 503', 'used up');
# What the zone becomes, what the same key is answered, what is said.
for my $step (
	[ 'rate=1r/d algorithm=gcra', '503', '', 'another rate' ],
	[ 'rate=1r/d algorithm=token_bucket', '503', '', 'the same algorithm by its other name' ],
	[ 'rate=1r/h algorithm=leaky_queue', '200', '"rl_zone" "z" changes from "token_bucket" to '
		. '"leaky_queue": it starts empty', 'another algorithm' ],
	[ 'rate=1r/h algorithm=sliding_log', '200 503', '"rl_zone" "z" changes from "leaky_queue" to '
		. '"sliding_log": it starts empty', 'another record' ],
	[ 'rate=1r/d algorithm=sliding_log', '503', '', 'another window' ],
	[ 'rate=2r/d algorithm=sliding_log', '200 200 503',
		'"rl_zone" "z" keeps 2 requests a key instead of 1: it starts empty', 'another quota' ],
	[ 'rate=1r/m', '200 503', '"rl_zone" "z" changes from "sliding_log" to "leaky": it starts empty',
		'back to the default' ],
	)
{
	my ($zone, $expected, $said, $name) = @$step;
	my $before = () = notices();
	$t->write_file('nginx.conf', $conf =~ s/rate=1r\/h algorithm=gcra/$zone/r);
	reload_fully($t) or die "no reload\n";
	my @said = notices();
	is(join(' ', @said[$before .. $#said]), $said, "$name, notice");
	is(statuses(8080, ('/a.html?k=a') x (1 + ($expected =~ tr/ //))), $expected, $name);
}
my $log = $t->read_file('notice.log');
# With no burst: the place of the request that has just left is free again.
like($log, qr{"rl_req" on zone "z" may hold a request for 3599 seconds in \S+nginx\.conf:\d+}, 'long wait');
like($log, qr{"rl_zone" "z" has a rate that is truncated: "rate=1r/m" is 0\.016 requests a second.* in \S+nginx\.conf:\d+$}m,
	'truncation');

###############################################################################

sub notices {
	return $t->read_file('notice.log') =~ /("rl_zone" "z" (?:changes|keeps) .*)/g;
}

###############################################################################
