#!/usr/bin/perl

# A reload keeps what has been charged, and takes new rates, bursts and the rest at once.

use warnings;
use strict;

use Test::More;

use Test::Nginx qw/ :DEFAULT http_end /;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req/)->plan(22);

# RATE, BURST and DRY_RUN are what changes.
my $conf = <<'EOF';
limit_req_zone $arg_k zone=z:1m rate=RATE;
limit_req_zone $arg_k zone=held:1m rate=2r/s;
server {
    listen 127.0.0.1:8080;
    location /held.html { limit_req zone=held burst=2; }
    location /a.html { limit_req zone=z BURST; }
    location /b.html { limit_req zone=z burst=9 nodelay; limit_req_dry_run DRY_RUN; }
}
EOF

configure($t, RATE => '1r/m', BURST => 'burst=1 nodelay', DRY_RUN => 'off');
$t->write_file($_, 'served') for qw/ a.html b.html held.html /;
$t->run();

###############################################################################

is_on_both('used up', '200 200 503', sub { statuses(shift, ('/a.html?k=a') x 3) });

ok(reload_fully($t), 'reload');
is_on_both('kept', '503', sub { statuses(shift, '/a.html?k=a') });

configure($t, RATE => '1r/m', BURST => 'burst=3 nodelay', DRY_RUN => 'off');
ok(reload_fully($t), 'reload for a larger burst');
is_on_both('two more', '200 200 503', sub { statuses(shift, ('/a.html?k=a') x 3) });

configure($t, RATE => '1r/m', BURST => '', DRY_RUN => 'on');
ok(reload_fully($t), 'reload for no burst');
is_on_both('what was within the burst is over it now', '503', sub { statuses(shift, '/a.html?k=a') });
is_on_both('dry run', '200', sub { statuses(shift, ('/b.html?k=a')) });

# At 1r/m more than four requests would be owed for minutes.
configure($t, RATE => '1000r/s', BURST => '', DRY_RUN => 'off');
ok(reload_fully($t), 'reload for a higher rate');
is_on_both('owed no longer', '200', sub { statuses(shift, ('/a.html?k=a')) });

# Workers that are to go finish what they hold; the next ones go on from there.
my %held;
for my $side (qw/ limit_req rl_req /) {
	get($side, '/held.html?k=a');
	$held{$side} = [ map { start($side, '/held.html?k=a') } 1 .. 2 ];
}
wait_until { log_lines($t, qr/delaying request/) == 4 };
ok(reload_fully($t), 'reload while requests are held');
is_on_both('those', '200 200', sub { join ' ', map { status(http_end($_)) } @{ $held{+shift} } });
is_on_both('the next one', '200', sub { statuses(shift, '/held.html?k=a') });

log_is_calm($t);

###############################################################################

sub configure {
	my ($t, %value) = @_;
	my $words = join '|', keys %value;
	write_both($t, $conf =~ s/\b($words)\b/$value{$1}/gr);
}

###############################################################################
