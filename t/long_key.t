#!/usr/bin/perl

# A key of more than 65535 bytes is not limited, as in limit_req, and logged: cut and escaped by us.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req/)->plan(11);

write_both($t, <<'EOF', http => 'client_header_buffer_size 256k;');
limit_req_zone $arg_k zone=z:1m rate=1r/m;
limit_req_zone $arg_k$arg_k zone=doubled:1m rate=1r/m;
server {
    listen 127.0.0.1:8080;
    location /a.html       { limit_req zone=z; }
    location /doubled.html { limit_req zone=doubled; }
}
EOF

$t->write_file($_, 'served') for qw/ a.html doubled.html /;
$t->run();

###############################################################################

my $most = 65535;
my $longest = 'x' x $most;
my $too_long = '"\\' . 'x' x ($most - 1);

is_on_both('the longest key', '200 503', sub { statuses(shift, ("/a.html?k=$longest") x 2) });
is_on_both('one that differs in its last byte', '200', sub {
	statuses(shift, '/a.html?k=' . 'x' x ($most - 1) . 'y');
});
is_on_both('one byte more', '200 200', sub { statuses(shift, ("/a.html?k=$too_long") x 2) });
is_on_both('a key of two parts', '200 200', sub {
	statuses(shift, ('/doubled.html?k=' . substr $longest, 0, 40000) x 2);
});

my @long = log_lines($t, qr/ key is more than/);
is(@long, 8, 'each is logged');
my ($ours) = grep { /"\$arg_k" key.*, client: / } @long;
like($ours, qr/\A\[error\]\ the\ value\ of\ the\ "\$arg_k"\ key\ is\ more\ than\ 65535\ bytes:
	\ "\\"\\\\x{126}",\ client:/x, 'cut and escaped');

log_is_calm($t);

###############################################################################
