#!/usr/bin/perl

# A limit that is first met in a subrequest holds that: the client gets its whole answer, and its next
# request is served. (limit_req leaves the connection hanging behind a held mirror; it is not asked.)

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;
use Test::RateLimit::HTTP2;

use Time::HiRes qw/ time /;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req ssi mirror auth_request addition http_v2/)->plan(15);

write_both($t, <<'EOF');
limit_req_zone $request_uri zone=z:1m rate=1r/s;
log_format limit_req '$uri';
server {
    listen 127.0.0.1:8080;
    location /ssi.html      { ssi on; }
    location /deep.html     { ssi on; }
    location /middle.html   { ssi on; }
    location /auth.html     { auth_request /part.html; }
    location /addition.html { add_before_body /part.html; }
    location /mirror.html   { mirror /part.html; }
    location /part.html {
        limit_req zone=z burst=5;
        log_subrequest on;
        access_log %%TESTDIR%%/limit_req.log limit_req;
    }
}
server {
    listen 127.0.0.1:8081 http2;
    location /mirror.html { mirror /part.html; }
    location /ssi.html    { ssi on; }
    location /part.html   { limit_req zone=z burst=5; }
}
EOF

$t->write_file('ssi.html', '{<!--#include virtual="/part.html" --><!--#include virtual="/plain.html" -->}');
$t->write_file('deep.html', '{<!--#include virtual="/middle.html" -->}');
$t->write_file('middle.html', '{<!--#include virtual="/part.html" -->}');
$t->write_file("$_.html", "{$_}") for qw/ auth addition mirror part plain /;
$t->run();

###############################################################################

my %expected = (
	ssi => '{{part}{plain}}+0 {{part}{plain}}+1 {plain}+1',
	deep => '{{{part}}}+0 {{{part}}}+1 {plain}+1',
	auth => '{auth}+0 {auth}+1 {plain}+1',
	addition => '{part}{addition}+0 {part}{addition}+1 {plain}+1',
);
for my $name (sort keys %expected) {
	is_on_both("held, then the next request, $name", $expected{$name}, sub {
		return in_turn(shift, "/$name.html", "/$name.html", '/plain.html');
	});
}

# The mirror is in the background: its client has the answer, and waits with the next request.
like(in_turn('rl_req', ('/mirror.html') x 2, ('/plain.html') x 2),
	qr/^\{mirror\}\+0 \{mirror\}\+0 \{plain\}\+[01] \{plain\}\+[01]$/, 'behind a held mirror');

# A mirror that is held by several requests at a time.
is(waits(1, at_once('rl_req', ('/mirror.html?many') x 3)), '200+0 200+1 200+2',
	'connections are closed when their mirror has gone out');

my @expected = ('/part.html') x 13;
my @parts;
wait_until { @parts = split ' ', $t->read_file('rl_req.log'); @parts >= @expected };
is("@parts", "@expected", 'every held subrequest went on');

# On HTTP/2 other streams have nothing to wait for.
my $http2 = Test::RateLimit::HTTP2->new(address(8091));
my ($first, $second) = map { $http2->request('/mirror.html?h2') } 1 .. 2;
is(join(' ', map { $http2->answer($_)->{body} } $first, $second), '{mirror} {mirror}', 'mirror, HTTP/2');
($first, $second) = map { $http2->request('/ssi.html?h2') } 1 .. 2;
my $plain = $http2->request('/plain.html');
is(join(' ', map { $http2->answer($_)->{body} } $plain, $second, $first),
	'{plain} {{part}{plain}} {{part}{plain}}', 'ssi, HTTP/2');

# A client that goes while its subrequest is held.
for my $uri (qw( /ssi.html?gone /mirror.html?gone )) {
	start('rl_req', $uri) for 1 .. 3;
}
is(statuses('rl_req', '/plain.html'), '200', 'clients gone');

log_is_calm($t);

###############################################################################

# The answers to requests one after the other on one connection, each with the time of its end in
# whole seconds since the first was sent.
sub in_turn {
	my ($side, @uris) = @_;
	my $began = time();
	my $client = connection($side);
	return join ' ', map {
		body($client->get($_)->answer()) . '+' . int(time() - $began + 0.03);
	} @uris;
}

###############################################################################
