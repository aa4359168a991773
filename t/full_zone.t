#!/usr/bin/perl

# A zone that is full: no request fails for it, and a client at its limit stays limited. (limit_req
# forgets the client that has not been seen for longest; it is not asked.)

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http/)->plan(7);

write_http($t, <<'EOF');
# At level debug the log would take most of the time.
error_log %%TESTDIR%%/error.log info;
rl_zone $arg_k zone=z:32k rate=1r/m;
server {
    listen 127.0.0.1:8080;
    keepalive_requests 100000;
    location /a.html { rl_req zone=z burst=5 nodelay; }
}
EOF

$t->write_file('a.html', 'served');
$t->run();

###############################################################################

is(statuses(8080, ('/a.html?k=victim') x 7), '200 200 200 200 200 200 503', 'a client at its limit');

my %statuses;
my $client = connection(8080);
for my $round (1 .. 50) {
	# Keys of all lengths, which take room by it in limit_req.
	my @uris = map { "/a.html?k=$round-$_" . 'x' x ($_ * 10) } 1 .. 100;
	$client->get(@uris);
	$statuses{status($client->answer())}++ for @uris;
}
is(join(' ', map { "$_: $statuses{$_}" } sort keys %statuses), '200: 5000', 'thousands of other keys');

is(statuses(8080, '/a.html?k=victim'), '503', 'is still limited');
is(statuses(8080, ('/a.html?k=new') x 7), '200 200 200 200 200 200 503', 'so is a new one');
is(join("\n", grep { !/limiting requests|has no room/ } log_lines($t, qr/\[(?!info|debug|notice)\w+\]/)), '',
	'nothing but refusals and the want of room in the log');
is(scalar(log_lines($t, qr/limiting requests/)), 3, 'refusals');

log_is_calm($t);

###############################################################################
