#!/usr/bin/perl

# A limit may name a zone that is declared further down; arguments may come in any order, also without
# a rate.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req/)->plan(10);

write_both($t, <<'EOF', http => <<'EOF_OURS');
server {
    listen 127.0.0.1:8080;
    location /later.html { limit_req nodelay burst=1 zone=later; }
    include %%TESTDIR%%/limit_req.conf;
    location /bare.html { limit_req zone=bare; }
}
limit_req_zone $arg_k zone=later:1m rate=1r/m;
limit_req_zone $arg_k rate=5 zone=bare:32k;
EOF
# limit_req_zone does not take less than three arguments.
rl_zone $arg_k zone=default:1m;
server {
    listen 127.0.0.1:8082;
    location /default.html { rl_req zone=default; }
}
EOF_OURS

my $included = "location /included.html { limit_req zone=later; }\n";
$t->write_file('limit_req.conf', $included);
$t->write_file('rl_req.conf', migrate($included));
$t->write_file("$_.html", 'served') for qw/ later included bare default /;
$t->run();

###############################################################################

is_on_both('declared after its use', '200 200 503', sub { statuses(shift, ('/later.html?k=a') x 3) });
is_on_both('used in an included file', '200 503', sub {
	statuses(shift, ('/included.html?k=b') x 2);
});

# A bare number is per second: after 0.25 s there is room again, at 5 per minute there is not.
is_on_both('rate=5 is per second', 'refused, 200', sub {
	my ($side) = @_;
	my $first = statuses($side, ('/bare.html?k=a') x 9);
	select undef, undef, undef, 0.25;
	return join ', ', $first =~ /503/ ? 'refused' : $first, statuses($side, '/bare.html?k=a');
});

my $two = statuses(8082, ('/default.html?k=a') x 2);
select undef, undef, undef, 1.1;
is($two, '200 503', 'without a rate there is a limit');
is(statuses(8082, ('/default.html?k=a') x 2), '200 503', 'of 1r/s');
is(scalar(log_lines($t, qr/limiting requests, excess: [01]\.\d{3} by zone "default"/)), 2, 'logged');

log_is_calm($t);

###############################################################################
