#!/usr/bin/perl

# Several requests on one connection: one after the other, and pipelined.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;
use Time::HiRes qw/ time /;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req/)->plan(11);

write_both($t, <<'EOF');
limit_req_zone $arg_k zone=held:1m rate=2r/s;
limit_req_zone $arg_k zone=refused:1m rate=1r/m;
server {
    listen 127.0.0.1:8080;
    location /held.html    { limit_req zone=held burst=5; }
    location /refused.html { limit_req zone=refused; }
}
EOF

$t->write_file("$_.html", $_) for qw/ held refused free /;
$t->run();

###############################################################################

is_on_both('one after the other', 'held held held free', sub {
	my $client = connection(shift);
	return join ' ', map { body($client->get($_)->answer()) }
		('/held.html?k=a') x 3, '/free.html';
});
is_on_both('pipelined', 'held free held held free', sub {
	my $client = connection(shift);
	my @uris = ('/held.html?k=b', '/free.html', '/held.html?k=b', '/held.html?k=b', '/free.html');
	$client->get(@uris);
	return join ' ', map { body($client->answer()) } @uris;
});
is_on_both('a request that arrives while another is held', 'held free 1', sub {
	my ($side) = @_;
	my $began = time();
	get($side, '/held.html?k=c');
	my $client = connection($side)->get('/held.html?k=c');
	select undef, undef, undef, 0.2;
	$client->get('/free.html');
	return join ' ', (map { body($client->answer()) } 1 .. 2), int((time() - $began + 0.03) / 0.5);
});
is_on_both('a refusal keeps the connection', '200 503 503 200', sub {
	my $client = connection(shift);
	my @uris = (('/refused.html?k=a') x 3, '/free.html');
	$client->get(@uris);
	return join ' ', map { status($client->answer()) } @uris;
});
is_on_both('log', '5 2', sub {
	my @lines = log_of($t, shift);
	return join ' ', scalar(grep { /delaying request,/ } @lines),
		scalar(grep { /limiting requests,/ } @lines);
});

log_is_calm($t);

###############################################################################
