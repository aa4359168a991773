#!/usr/bin/perl

# A body that arrives during the delay, and the request after it.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req proxy/)->plan(13);

write_both($t, <<'EOF');
limit_req_zone $arg_k zone=z:1m rate=1r/s;
server {
    listen 127.0.0.1:8080;
    location /body/ {
        limit_req zone=z burst=1;
        proxy_pass http://127.0.0.1:8081/echo.html;
        add_header X-Body <$request_body>;
    }
    location /file.html {
        limit_req zone=z burst=1;
        error_page 405 =200 /discarded.html;
    }
}
server {
    listen 127.0.0.1:8081;
    location / { error_page 405 =200 /echo.html; }
}
EOF

$t->write_file("$_.html", $_) for qw/ free echo file discarded /;
$t->run();

###############################################################################

is_on_both('with the head', '<0123456789> free', sub {
	return answers(held(shift, 'a', "Content-Length: 10\n\n0123456789"));
});
is_on_both('piece by piece', '<0123456789> free', sub {
	my $client = held(shift, 'b', "Content-Length: 10\n\n");
	for my $piece ('0', '1234', '56789') {
		select undef, undef, undef, 0.1;
		$client->write($piece);
	}
	return answers($client);
});
is_on_both('chunked', '<0123456789> free', sub {
	my $client = held(shift, 'c', "Transfer-Encoding: chunked\n\n");
	for my $piece ("4\r\n0123\r\n6\r\n4567", "89\r\n", "0\r\n\r\n") {
		select undef, undef, undef, 0.1;
		$client->write($piece);
	}
	return answers($client);
});
is_on_both('only after it', '<0123456789> free', sub {
	my $client = held(shift, 'd', "Content-Length: 10\n\n");
	select undef, undef, undef, 1.2;
	$client->write('0123456789');
	return answers($client);
});
is_on_both('thrown away', 'discarded free', sub {
	my ($side) = @_;
	get($side, '/file.html?k=e');
	my $client = connection($side);
	$client->write("POST /file.html?k=e HTTP/1.1\nHost: localhost\nContent-Length: 10\n\n01");
	select undef, undef, undef, 0.1;
	$client->write('23456789');
	return join ' ', map { body($_) } $client->answer(), $client->get('/free.html')->answer();
});
is_on_both('all held', 5, sub { scalar grep { /delaying request,/ } log_of($t, shift) });

log_is_calm($t);

###############################################################################

# A client whose request, of which this is the end of the head and perhaps more, is held.
sub held {
	my ($side, $key, $rest) = @_;
	get($side, "/body/?k=$key");
	return connection($side)->write("POST /body/?k=$key HTTP/1.1\nHost: localhost\n$rest");
}

# What nginx has read as the body, and the answer to one more request on the connection.
sub answers {
	my ($client) = @_;
	my ($body) = $client->answer() =~ /^X-Body: (.*?)\x0d?$/m;
	return join ' ', defined $body ? $body : 'none', body($client->get('/free.html')->answer());
}

###############################################################################
