#!/usr/bin/perl

# More than the rate and its burst is refused, by each key for itself.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req/)->plan(13);

write_both($t, <<'EOF');
limit_req_zone $arg_k zone=slow:1m rate=1r/m;
limit_req_zone $arg_k zone=fast:1m rate=10r/s;
limit_req_zone $arg_k zone=strict:1m rate=1r/m;
server {
    listen 127.0.0.1:8080;
    location /slow.html   { limit_req zone=slow burst=2 nodelay; }
    location /strict.html { limit_req zone=strict; }
    location /fast.html   { limit_req zone=fast; }
}
EOF

$t->write_file($_, 'served') for qw/ slow.html strict.html fast.html /;
$t->run();

###############################################################################

is_on_both('burst=2 admits three at once', '200 200 200 503 503', sub {
	statuses(shift, ('/slow.html?k=a') x 5);
});
is_on_both('another key is another client', '200', sub { statuses(shift, '/slow.html?k=b') });
is_on_both('no burst', '200 503', sub { statuses(shift, ('/strict.html?k=a') x 2) });

# Refusals are not counted: they would still be owed after this pause.
is_on_both('refused, then paused for the time of one request', 'refused, 200', sub {
	my ($side) = @_;
	my $first = statuses($side, ('/fast.html?k=a') x 9);
	select undef, undef, undef, 0.15;
	return join ', ', $first =~ /503/ ? 'refused' : $first, statuses($side, '/fast.html?k=a');
});

is_on_both('refusals are logged', 2, sub { scalar grep { /"slow"/ } log_of($t, shift) });
is_on_both('as limits', '', sub {
	join "\n", grep { !/^\[error\] limiting requests, excess: \d+\.\d{3} by zone "/ }
		log_of($t, shift);
});

log_is_calm($t);

###############################################################################
