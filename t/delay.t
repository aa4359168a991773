#!/usr/bin/perl

# Without `nodelay` the burst is held until it is on schedule.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req/)->plan(7);

write_both($t, <<'EOF');
limit_req_zone $arg_k zone=held:1m rate=1r/s;
limit_req_zone $arg_k zone=fast:1m rate=1000r/s;
server {
    listen 127.0.0.1:8080;
    location /held.html { limit_req zone=held burst=2; }
    location /fast.html { limit_req zone=fast burst=1; }
}
EOF

$t->write_file($_, 'served') for qw/ held.html fast.html /;
$t->run();

###############################################################################

is_on_both('waits of 0, 1 and 2 s, the fourth refused', '200+0 200+1 200+2 503+0', sub {
	waits(1, at_once(shift, ('/held.html?k=a') x 4));
});

# The excess would be negative after the pause.
is_on_both('a pause', '200 200', sub {
	my ($side) = @_;
	my $first = statuses($side, '/fast.html?k=a');
	select undef, undef, undef, 0.05;
	return $first . ' ' . statuses($side, '/fast.html?k=a');
});

is_on_both('two held, one refused', '2 1', sub {
	my @lines = log_of($t, shift);
	return join ' ', scalar(grep { /^\[warn\] delaying request, excess: \d\.\d{3}, by/ } @lines),
		scalar(grep { /^\[error\] limiting requests, excess: \d\.\d{3} by/ } @lines);
});

log_is_calm($t);

###############################################################################
