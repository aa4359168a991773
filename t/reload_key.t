#!/usr/bin/perl

# A reload that gives a zone another key is refused, and the old workers go on.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req/)->plan(11);

my $conf = <<'EOF';
limit_req_zone $arg_k zone=z:1m rate=1r/m;
server {
    listen 127.0.0.1:8080;
    location /a.html { limit_req zone=z; }
}
EOF

write_both($t, $conf);
$t->write_file('a.html', 'served');
$t->run();

my $good = $t->read_file('nginx.conf');

###############################################################################

is_on_both('used up', '200 503', sub { statuses(shift, ('/a.html?k=a') x 2) });
my @workers = worker_pids($t);

# The first zone that nginx refuses ends its reload, so one at a time.
for my $directive (qw/ limit_req_zone rl_zone /) {
	$t->write_file('nginx.conf', $good =~ s/$directive \$arg_k/$directive \$arg_other/r);
	$t->reload();
	wait_until { log_lines($t, qr/previously/) == ($directive eq 'rl_zone' ? 2 : 1) };
}

my ($stock, $ours) = log_lines($t, qr/previously/);
is($stock, '[emerg] limit_req "z" uses the "$arg_other" key while previously it used the "$arg_k" key',
	'refused, limit_req');
is($ours, $stock =~ s/limit_req "z"/rl_req "rl_z"/r, 'refused, rl_req');
is(join(' ', worker_pids($t)), "@workers", 'the same workers');
is_on_both('limit as before', '503', sub { statuses(shift, '/a.html?k=a&other=b') });

$t->write_file('nginx.conf', $good);
ok(reload_fully($t), 'the next reload is accepted');
is_on_both('and finds what has been charged', '503 200', sub {
	statuses(shift, '/a.html?k=a', '/a.html?k=b');
});

is(join("\n", grep { !/previously/ } log_lines($t, qr/\[(?:crit|alert|emerg)\]|panicked/)), '',
	'nothing else alarming in the log');

###############################################################################
