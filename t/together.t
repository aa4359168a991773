#!/usr/bin/perl

# limit_req and rl_req in one location: neither disables the other, and rl_req is asked first.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req limit_conn/)->plan(9);

write_http($t, <<'EOF');
rl_zone        $arg_k zone=ours:1m  rate=1r/m;
limit_req_zone $arg_k zone=stock:1m rate=1r/m;
rl_zone        $arg_k zone=ours_held:1m  rate=1r/s;
limit_req_zone $arg_k zone=stock_held:1m rate=1r/s;
limit_conn_zone $arg_k zone=conn:1m;
limit_req_status 429;
server {
    listen 127.0.0.1:8080;
    add_header X-Status "<$rl_req_status $limit_req_status>" always;
    location /ours_stricter.html {
        rl_req    zone=ours;
        limit_req zone=stock burst=1 nodelay;
    }
    location /stock_stricter.html {
        limit_req zone=stock;
        rl_req    zone=ours burst=1 nodelay;
    }
    location /stock.html { limit_req zone=stock burst=1 nodelay; }
    location /held.html {
        rl_req    zone=ours_held burst=1;
        limit_req zone=stock_held burst=1;
    }
    location /first.html {
        rl_req zone=ours burst=1 nodelay;
        error_page 404 = /second.html?$args;
    }
    location /second.html {
        limit_req zone=stock;
        try_files /stock.html =404;
    }
    location /conn.html {
        rl_req zone=ours burst=1 nodelay;
        limit_conn conn 1;
        limit_conn_status 509;
        limit_rate 1k;
    }
}
EOF

$t->write_file("$_.html", 'served') for qw/ ours_stricter stock_stricter stock held /;
$t->write_file('conn.html', 'served' x 10000);
$t->run();

###############################################################################

is(shown(8080, ('/ours_stricter.html?k=a') x 2), '200<PASSED PASSED> 503<REJECTED >',
	'ours refuses, and limit_req is not asked');
is(shown(8080, ('/stock.html?k=a') x 2), '200< PASSED> 429< REJECTED>',
	'so that it has counted one');
is(shown(8080, ('/stock_stricter.html?k=b') x 3),
	'200<PASSED PASSED> 429<PASSED REJECTED> 503<REJECTED >', 'limit_req refuses after ours');
is(shown(8080, ('/first.html?k=c') x 3),
	'200<PASSED PASSED> 429<PASSED REJECTED> 503<REJECTED >', 'each in a location of its own');

# Ours has held it for a second; limit_req has then nothing left to hold.
is(waits(1, at_once(8080, ('/held.html?k=d') x 2)), '200+0 200+1', 'held once');
is(scalar(log_lines($t, qr/delaying request/)), 1, 'by one');

# limit_conn comes last: what it refuses has been counted.
my $slow = start(8080, '/conn.html?k=e');
sysread $slow, my $head, 100;
is(status($head), '200', 'a request that takes its time');
is(statuses(8080, ('/conn.html?k=e') x 2), '509 503', 'the next ones');
close $slow;

log_is_calm($t);

###############################################################################

sub shown {
	my ($side, @uris) = @_;
	return join ' ', map {
		my $answer = get($side, $_);
		status($answer) . ($answer =~ /^X-Status: (.*?)\x0d?$/m ? $1 : ' without the header');
	} @uris;
}

###############################################################################
