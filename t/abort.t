#!/usr/bin/perl

# A client that goes away while it is held ends at once, as 499.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req/)->plan(9);

write_both($t, <<'EOF');
limit_req_zone $arg_k zone=z:1m rate=1r/m;
log_format limit_req '$request_uri $status $limit_req_status';
server {
    listen 127.0.0.1:8080;
    access_log %%TESTDIR%%/limit_req.log limit_req;
    location /a.html { limit_req zone=z burst=2; }
}
EOF

$t->write_file('a.html', 'served');
$t->run();

###############################################################################

is_on_both('first', '200', sub { statuses(shift, '/a.html?k=a') });

# All would be held for a minute and more.
is_on_both('closed', "/a.html?k=a 499 DELAYED\n/a.html?k=a 499 DELAYED", sub {
	my ($side) = @_;
	my @clients = map { start($side, '/a.html?k=a') } 1 .. 2;
	wait_until { log_of($t, $side) == 2 };
	close $_ for @clients;
	return join "\n", access_log_of($t, $side, qr/k=a 499/, 2);
});
is_on_both('they have been charged', '503', sub { statuses(shift, '/a.html?k=a') });

# A client of HTTP/1 that has said all it has to say has gone, for nginx.
is_on_both('half closed', '/a.html?k=b 499 DELAYED', sub {
	my ($side) = @_;
	statuses($side, '/a.html?k=b');
	my $client = start($side, '/a.html?k=b');
	wait_until { log_of($t, $side) == 4 };
	shutdown $client, 1;
	return join "\n", access_log_of($t, $side, qr/k=b 499/, 1);
});

log_is_calm($t);

###############################################################################
