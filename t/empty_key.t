#!/usr/bin/perl

# An empty key: the limit does not apply to the request.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req/)->plan(13);

write_both($t, <<'EOF');
limit_req_zone $arg_a zone=a:1m rate=1r/m;
limit_req_zone $arg_b zone=b:1m rate=1r/m;
limit_req_zone $arg_c zone=c:1m rate=1r/m;
server {
    listen 127.0.0.1:8080;
    add_header X-Status "<$limit_req_status>" always;
    location /a.html   { limit_req zone=a; }
    location /ab.html  { limit_req zone=a; limit_req zone=b; }
    location /dir/     { limit_req zone=a; limit_req zone=b; }
    location = /dir/index.html { limit_req zone=c; }
}
EOF

mkdir $t->testdir() . '/dir';
$t->write_file($_, 'served') for qw( a.html ab.html dir/index.html );
$t->run();

###############################################################################

is_on_both('not limited, no status', '200<> 200<>', sub { shown(shift, ('/a.html') x 2) });
is_on_both('nor by an argument without a value', '200<> 200<>', sub {
	shown(shift, ('/a.html?a=') x 2);
});
is_on_both('another limit applies, the later', '200<PASSED> 503<REJECTED>', sub {
	shown(shift, ('/ab.html?b=1') x 2);
});
is_on_both('another limit applies, the earlier', '200<PASSED> 503<REJECTED>', sub {
	shown(shift, ('/ab.html?a=1') x 2);
});
is_on_both('all keys empty, and the request goes on to a location with a key',
	'200<PASSED> 503<REJECTED>', sub { shown(shift, ('/dir/?c=1') x 2) });
is_on_both('a key that only the first location uses', '200<PASSED> 503<REJECTED>', sub {
	shown(shift, ('/dir/?b=2&c=2') x 2);
});

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
