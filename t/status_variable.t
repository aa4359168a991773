#!/usr/bin/perl

# $limit_req_status in headers and in the access log.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req/)->plan(13);

write_both($t, <<'EOF');
limit_req_zone $arg_k zone=slow:1m rate=1r/m;
limit_req_zone $arg_k zone=fast:1m rate=2r/s;
log_format limit_req '$request_uri $status $limit_req_status';
server {
    listen 127.0.0.1:8080;
    access_log %%TESTDIR%%/limit_req.log limit_req;
    add_header X-Status "<$limit_req_status>" always;
    location /slow.html { limit_req zone=slow; }
    location /fast.html { limit_req zone=fast burst=1; }
    location /dry/ {
        limit_req zone=slow burst=1;
        limit_req_dry_run on;
    }
    location /page/ {
        limit_req zone=slow;
        error_page 503 = /page.html;
    }
    location /index/ { limit_req zone=slow; }
    location /page.html { }
    location / { }
}
EOF

mkdir $t->testdir() . "/$_" for qw/ dry page index /;
$t->write_file($_, 'served')
	for qw( none.html slow.html fast.html dry/a.html page.html page/a.html index/index.html );
$t->run();

###############################################################################

is_on_both('no limit', '200<>', sub { shown(get(shift, '/none.html')) });
is_on_both('passed and refused', '200<PASSED> 503<REJECTED>', sub {
	all(shift, ('/slow.html?k=a') x 2);
});
is_on_both('held', '200<DELAYED> 200<PASSED>', sub {
	join ' ', sort map { shown($_->[2]) } at_once(shift, ('/fast.html?k=a') x 2);
});
is_on_both('dry run', '200<PASSED> 200<DELAYED_DRY_RUN> 200<REJECTED_DRY_RUN>', sub {
	all(shift, ('/dry/a.html?k=b') x 3);
});
is_on_both('over redirects inside nginx', '200<PASSED> 200<REJECTED>', sub {
	my ($side) = @_;
	my $index = all($side, '/index/?k=c');
	return "$index " . all($side, '/page/a.html?k=c');
});

is_on_both('access log', <<'EOF', sub {
/dry/a.html?k=b 200 DELAYED_DRY_RUN
/dry/a.html?k=b 200 PASSED
/dry/a.html?k=b 200 REJECTED_DRY_RUN
/fast.html?k=a 200 DELAYED
/fast.html?k=a 200 PASSED
/index/?k=c 200 PASSED
/none.html 200 -
/page/a.html?k=c 200 REJECTED
/slow.html?k=a 200 PASSED
/slow.html?k=a 503 REJECTED
EOF
	return join '', map { "$_\n" } sort(access_log_of($t, shift, qr/./, 10));
});

log_is_calm($t);

###############################################################################

sub all {
	my ($side, @uris) = @_;
	return join ' ', map { shown(get($side, $_)) } @uris;
}

sub shown {
	my ($answer) = @_;
	return status($answer) . ($answer =~ /^X-Status: (.*?)\x0d?$/m ? $1 : ' without the header');
}

###############################################################################
