#!/usr/bin/perl

# Workers share a zone: together they admit what one would.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req/)->plan(7);

write_both($t, <<'EOF', main => 'worker_processes 2;');
limit_req_zone $arg_k zone=z:1m rate=1r/m;
server {
    # By reuseport the kernel spreads connections over the workers.
    listen 127.0.0.1:8080 reuseport;
    add_header X-Worker $pid always;
    location /a.html { limit_req zone=z burst=9 nodelay; }
    location /b.html { limit_req zone=z burst=39 nodelay; }
}
EOF

$t->write_file($_, 'served') for qw/ a.html b.html /;
$t->run();

###############################################################################

# One after the other, and at the same time.
is_on_both('exactly ten, by two workers', '10 of 60 by 2', sub {
	my ($side) = @_;
	return counted(map { get($side, '/a.html?k=a') } 1 .. 60);
});
is_on_both('exactly forty, by two workers', '40 of 100 by 2', sub {
	my ($side) = @_;
	my @clients = map { connection($side) } 1 .. 100;
	$_->get('/b.html?k=b') for @clients;
	return counted(map { $_->answer() } @clients);
});
is_on_both('the rest refused', 110, sub { scalar log_of($t, shift) });

log_is_calm($t);

###############################################################################

sub counted {
	my (@answers) = @_;
	my %workers = map { /^X-Worker: (\d+)/m ? ($1 => 1) : () } @answers;
	return sprintf '%d of %d by %d', scalar(grep { status($_) == 200 } @answers), scalar @answers,
		scalar keys %workers;
}

###############################################################################
