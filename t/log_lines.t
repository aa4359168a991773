#!/usr/bin/perl

# Lines of the error log are those of limit_req, to the byte, but for the zone's name.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req/)->plan(15);

# Where both judge the same request, they do so in the same millisecond.
my $twins = <<'EOF';
server {
    listen 127.0.0.1:8082;
    limit_req_dry_run on;
    rl_req_dry_run on;
    limit_req zone=t burst=1;
    rl_req zone=rl_t burst=1;
}
EOF

write_both($t, <<'EOF', http => $twins);
limit_req_zone $arg_k zone=t:1m rate=7r/m;
limit_req_zone $arg_k zone=reject:1m rate=1r/m;
limit_req_zone $arg_k zone=delay:1m rate=2r/s;
server {
    listen 127.0.0.1:8080;
    server_name localhost;
    location /reject.html { limit_req zone=reject; }
    location /delay.html  { limit_req zone=delay burst=1; }
}
EOF

$t->write_file($_, 'served') for qw/ twin.html reject.html delay.html /;
$t->run();

###############################################################################

for my $pause (0, 0.137, 0, 0.071, 0.213) {
	select undef, undef, undef, $pause;
	get(8082, '/twin.html?k=a');
}

my @stock = log_of($t, 'limit_req');
my @ours = log_of($t, 'rl_req');
is(join("\n", @ours), join("\n", @stock), 'dry run, the same requests');
is(@ours, 4, 'dry run, all logged');
like($ours[0], qr/\A\[warn\]\ delaying\ request,\ dry\ run,\ excess:\ \d\.\d{3},\ by\ zone\ "t",
	\ client:\ 127\.0\.0\.1,\ server:\ ,\ request:\ "GET\ \/twin\.html\?k=a\ HTTP\/1\.0",
	\ host:\ "localhost"\z/x, 'dry run, delay');
like($ours[1], qr/\A\[error\] limiting requests, dry run, excess: \d\.\d{3} by zone "t", client: /,
	'dry run, reject');

is_on_both('reject', '[error] limiting requests, excess: N by zone "reject",'
	. ' client: 127.0.0.1, server: localhost,'
	. ' request: "GET /reject.html?k=a HTTP/1.0", host: "localhost"', sub {
	my ($side) = @_;
	get($side, '/reject.html?k=a') for 1 .. 2;
	return masked($t, $side, '"reject"');
});
is_on_both('delay', '[warn] delaying request, excess: N, by zone "delay",'
	. ' client: 127.0.0.1, server: localhost,'
	. ' request: "GET /delay.html?k=a HTTP/1.0", host: "localhost"', sub {
	my ($side) = @_;
	get($side, '/delay.html?k=a') for 1 .. 2;
	return masked($t, $side, '"delay"');
});

is_on_both('quotes in a request', '[error] limiting requests, excess: N by zone "reject",'
	. ' client: 127.0.0.1, server: localhost,'
	. ' request: "GET /reject.html?k="x HTTP/1.1", host: "a", referrer: ""r"', sub {
	my ($side) = @_;
	my $request = qq{GET /reject.html?k="x HTTP/1.1\nHost: a\nReferer: "r\nConnection: close\n\n};
	ask($side, $request) for 1 .. 2;
	return masked($t, $side, 'k="x');
});

# The excess of the first refusal is one request less what has drained since.
for my $side (qw/ limit_req rl_req /) {
	my ($excess) = map { /excess: ([\d.]+) by zone "reject"/ } log_of($t, $side);
	cmp_ok($excess, '>=', 0.5, "excess of a refusal, $side");
	cmp_ok($excess, '<=', 1, "excess of a refusal, $side");
}
log_is_calm($t);

###############################################################################

sub masked {
	my ($t, $side, $what) = @_;
	return join "\n", map { s/excess: \d\.\d{3}/excess: N/r } grep { /$what/ } log_of($t, $side);
}

###############################################################################
