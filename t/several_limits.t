#!/usr/bin/perl

# Several limits on one location: all must accept before any is charged; the longest wait counts.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req/)->plan(17);

write_both($t, <<'EOF');
limit_req_zone $arg_a zone=a:1m rate=1r/m;
limit_req_zone $arg_b zone=b:1m rate=1r/m;
limit_req_zone $arg_c zone=c:1m rate=1r/m;
limit_req_zone $arg_k zone=quick:1m rate=6r/m;
limit_req_zone $arg_k zone=slow:1m rate=2r/m;
limit_req_zone $arg_k zone=twin:1m rate=2r/m;
limit_req_zone $arg_k zone=held:1m rate=2r/s;
limit_req_zone $arg_k zone=longer:1m rate=1r/s;
server {
    listen 127.0.0.1:8080;
    location /ab.html {
        limit_req zone=a burst=1 nodelay;
        limit_req zone=b nodelay;
    }
    location /abc.html {
        limit_req zone=a burst=1 nodelay;
        limit_req zone=b burst=1 nodelay;
        limit_req zone=c burst=1 nodelay;
    }
    location /longer_last.html {
        limit_req_dry_run on;
        limit_req zone=quick burst=5;
        limit_req zone=slow burst=5;
    }
    location /longer_first.html {
        limit_req_dry_run on;
        limit_req zone=slow burst=5;
        limit_req zone=quick burst=5;
    }
    location /tie.html {
        limit_req_dry_run on;
        limit_req zone=slow burst=5;
        limit_req zone=twin burst=5;
    }
    location /held.html {
        limit_req zone=longer burst=1;
        limit_req zone=held burst=1;
    }
}
EOF

$t->write_file("$_.html", 'served') for qw/ ab abc longer_last longer_first tie held /;
$t->run();

###############################################################################

is_on_both('a refusal by the later limit charges the earlier nothing', '200 503 200 503', sub {
	statuses(shift, '/ab.html?a=1&b=1', '/ab.html?a=1&b=1', '/ab.html?a=1', '/ab.html?a=1');
});
is_on_both('a refusal by the earlier limit charges the later nothing', '200 200 503 200', sub {
	statuses(shift, '/ab.html?a=2', '/ab.html?a=2', '/ab.html?a=2&b=2', '/ab.html?b=2');
});
is_on_both('each names its zone', 'b a a', sub {
	join ' ', map { /by zone "(\w+)".*\/ab\.html/ } log_of($t, shift);
});
is_on_both('the middle one of three refuses, the others have two left',
	'200 200 503, 200 200 503, 200 200 503', sub {
	my ($side) = @_;
	return join ', ',
		statuses($side, '/abc.html?b=3', '/abc.html?b=3', '/abc.html?a=3&b=3&c=3'),
		statuses($side, ('/abc.html?a=3') x 3), statuses($side, ('/abc.html?c=3') x 3);
});

for my $uri (qw/ longer_last longer_first /) {
	is_on_both("the longest wait names the zone, $uri", 'slow', sub {
		my ($side) = @_;
		statuses($side, ("/$uri.html?k=$uri") x 2);
		return join ' ', map { /delaying request.*by zone "(\w+)".*$uri/ } log_of($t, $side);
	});
}

# The later limit is judged last, the earlier ones afterwards, and an equal wait changes nothing.
is_on_both('of equal waits the later limit names the zone', 'twin', sub {
	my ($side) = @_;
	statuses($side, ('/tie.html?k=tie') x 2);
	return join ' ', map { /delaying request.*by zone "(\w+)".*tie/ } log_of($t, $side);
});

is_on_both('and is waited', '200+0 200+1', sub { waits(1, at_once(shift, ('/held.html?k=h') x 2)) });

log_is_calm($t);

###############################################################################
