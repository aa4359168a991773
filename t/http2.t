#!/usr/bin/perl

# HTTP/2: streams are judged, held and refused one by one.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;
use Test::RateLimit::HTTP2;

use Time::HiRes qw/ time /;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req http_v2 proxy/)->plan(19);

write_both($t, <<'EOF');
limit_req_zone $arg_k zone=z:1m rate=1r/s;
limit_req_zone $arg_k zone=slow:1m rate=1r/m;
log_format limit_req '$request_uri $status $limit_req_status';
server {
    listen 127.0.0.1:8080 http2;
    access_log %%TESTDIR%%/limit_req.log limit_req;
    location /held.html { limit_req zone=z burst=2; }
    location /big.html  { limit_req zone=z burst=2; }
    location /slow.html { limit_req zone=slow burst=2; }
    location /body/ {
        limit_req zone=z burst=2;
        proxy_pass http://127.0.0.1:8081/echo.html;
    }
}
server {
    listen 127.0.0.1:8081;
    location / { error_page 405 =200 /echo.html; }
}
EOF

$t->write_file("$_.html", $_) for qw/ held slow free echo /;
$t->write_file('big.html', my $big = join '', map { "line $_\n" } 1 .. 500_000);
$t->run();

###############################################################################

is_on_both('held one behind the other, the fourth refused', '200+0 200+1 200+2 503+0', sub {
	my $client = client(shift);
	my $began = time();
	my @streams = map { $client->request('/held.html?k=a') } 1 .. 4;
	my @answers = map { $client->answer($_) } @streams[0, 3];
	push @answers, $client->answer($streams[1]);
	my $second = time() - $began;
	push @answers, $client->answer($streams[2]);
	my $third = time() - $began;
	return waits(1, [ $answers[0]{status}, 0 ], [ $answers[1]{status}, 0 ],
		[ $answers[2]{status}, $second ], [ $answers[3]{status}, $third ]);
});

is_on_both('another stream overtakes a held one', 'free slow', sub {
	my ($side) = @_;
	my $client = client($side);
	$client->answer($client->request('/slow.html?k=b'));
	my $held = $client->request('/slow.html?k=b');
	my $free = $client->answer($client->request('/free.html'));
	$client->reset($held);
	return "$free->{body} " . $client->answer($client->request('/slow.html?k=c'))->{body};
});

is_on_both('a stream that is reset while held ends at once', '/slow.html?k=b 499 DELAYED', sub {
	join ', ', access_log_of($t, shift, qr/k=b 499/, 1);
});

is_on_both('so do those of a connection that is closed',
	'/slow.html?k=d 499 DELAYED, /slow.html?k=d 499 DELAYED', sub {
	my ($side) = @_;
	my $client = client($side);
	$client->answer($client->request('/slow.html?k=d'));
	$client->request('/slow.html?k=d') for 1 .. 2;
	# Behind the held ones, so they are held now.
	$client->answer($client->request('/free.html'));
	$client->close();
	return join ', ', access_log_of($t, $side, qr/k=d 499/, 2);
});

is_on_both('a large file after a delay', 1, sub {
	my $client = client(shift);
	$client->answer($client->request('/held.html?k=e'));
	return $client->answer($client->request('/big.html?k=e'))->{body} eq $big;
});

is_on_both('a body that arrives during the delay', '200 echo, 200 echo, 200 free', sub {
	my $client = client(shift);
	my @streams = map { $client->request('/body/?k=f', body_follows => 1) } 1 .. 2;
	for my $stream (@streams) {
		$client->data($stream, 'x' x 1000);
		$client->data($stream, 'y' x 1000, 'last');
	}
	return join ', ', map { my $a = $client->answer($_); "$a->{status} $a->{body}" }
		@streams, $client->request('/free.html');
});

is_on_both('a body that arrives after the delay', '200 echo', sub {
	my $client = client(shift);
	my @streams = map { $client->request('/body/?k=g', body_follows => 1) } 1 .. 2;
	$client->data($streams[0], '', 'last');
	$client->answer($streams[0]);
	select undef, undef, undef, 1.1;
	$client->data($streams[1], 'x' x 1000);
	$client->data($streams[1], 'y' x 1000, 'last');
	my $answer = $client->answer($streams[1]);
	return "$answer->{status} $answer->{body}";
});

# The body is thrown away, and goes on to arrive when the answer has long been there.
is_on_both('a body for a file', 'free', sub {
	my $client = client(shift);
	my @streams = map { $client->request('/held.html?k=h', body_follows => 1) } 1 .. 2;
	$client->data($_, 'x' x 1000) for @streams;
	$client->answer($_) for @streams;
	$client->data($_, 'x' x 1000, 'last') for @streams;
	return $client->answer($client->request('/free.html'))->{body};
});

is_on_both('log', '1 9', sub {
	my @lines = log_of($t, shift);
	return join ' ', scalar(grep { /limiting requests/ } @lines),
		scalar(grep { /delaying request/ } @lines);
});

log_is_calm($t);

###############################################################################

sub client {
	return Test::RateLimit::HTTP2->new(address(shift));
}

###############################################################################
