#!/usr/bin/perl

# A dry run judges, charges and logs, but neither refuses nor holds.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req/)->plan(9);

write_both($t, <<'EOF');
limit_req_zone $arg_k zone=z:1m rate=1r/m;
server {
    listen 127.0.0.1:8080;
    limit_req zone=z burst=1;
    limit_req_dry_run on;
    location /enforced.html { limit_req_dry_run off; }
}
EOF

$t->write_file($_, 'served') for qw/ dry.html enforced.html /;
$t->run();

###############################################################################

# What would be held would be so for a minute, and have no status.
is_on_both('all pass', '200 200 200 200', sub { statuses(shift, ('/dry.html?k=a') x 4) });
is_on_both('and were charged', '503', sub { statuses(shift, '/enforced.html?k=a') });
is_on_both('refusals change nothing', '200 200 503', sub {
	my ($side) = @_;
	my $dry = statuses($side, '/dry.html?k=b', '/dry.html?k=b');
	return "$dry " . statuses($side, '/enforced.html?k=b');
});
is_on_both('log', <<'EOF', sub { join '', map { "$_\n" } masked($t, shift) });
[warn] delaying request, dry run, excess: N, by zone "z"
[error] limiting requests, dry run, excess: N by zone "z"
[error] limiting requests, dry run, excess: N by zone "z"
[error] limiting requests, excess: N by zone "z"
[warn] delaying request, dry run, excess: N, by zone "z"
[error] limiting requests, excess: N by zone "z"
EOF

log_is_calm($t);

###############################################################################

sub masked {
	my ($t, $side) = @_;
	return map { s/excess: \d+\.\d{3}/excess: N/r =~ s/, client: .*//r } log_of($t, $side);
}

###############################################################################
