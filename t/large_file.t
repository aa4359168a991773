#!/usr/bin/perl

# A large file after a delay arrives whole, also at a client that is slow to read.

use warnings;
use strict;

use Test::More;

use Test::Nginx qw/ :DEFAULT http_content /;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req ssi/)->plan(9);

write_both($t, <<'EOF');
limit_req_zone $arg_k zone=z:1m rate=2r/s;
server {
    listen 127.0.0.1:8080;
    limit_req zone=z burst=5;
    location /sendfile/ { sendfile on; alias %%TESTDIR%%/; }
    location /buffers/  { sendfile off; alias %%TESTDIR%%/; }
    location /chunked/  { ssi on; alias %%TESTDIR%%/; }
}
EOF

$t->write_file('a.html', my $big = join '', map { "line $_\n" } 1 .. 1_000_000);
$t->run();

###############################################################################

for my $dir (qw/ sendfile buffers chunked /) {
	is_on_both("whole, $dir", 'same same', sub {
		my ($side) = @_;
		my @clients = map { connection($side)->get("/$dir/a.html?k=$dir") } 1 .. 2;
		# The second is released and fills the buffers of its connection.
		select undef, undef, undef, 0.7;
		return join ' ', map { http_content($_->answer()) eq $big ? 'same' : 'another' } @clients;
	});
}
is_on_both('held', 3, sub { scalar grep { /delaying request,/ } log_of($t, shift) });

log_is_calm($t);

###############################################################################
