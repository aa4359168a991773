#!/usr/bin/perl

# The line about a zone without room, on a virtual clock and over two workers: once a minute, with
# all that has happened since the one before.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

needs_hooks();

my $t = Test::Nginx->new()->has(qw/http/)->plan(8);

write_http($t, <<'EOF', 'worker_processes 2;');
# At level debug the log would take most of the time.
error_log %%TESTDIR%%/error.log info;
rl_zone $arg_k zone=z:32k rate=1r/10m full=reject;
server {
    listen 127.0.0.1:8080;
    keepalive_requests 100000;
    location /a.html { rl_req zone=z; }
}
EOF

$t->write_file('a.html', 'served');
$t->run();

###############################################################################

# Virtual times in ms. Each connection is served by whichever worker takes it.
my $start = 1_000_000;
my $refused = spray('first', 2000, $start);
cmp_ok($refused, '>', 500, 'a spray fills the zone');
is(told(), '1', 'the first refusal is told at once');

my $more = 0;
$more += spray("more$_", 100, $start + 59_999) for 1 .. 20;
is(told(), '1', 'nothing more within the minute');

# A worker that has refused nobody, or whose refusals the other has told, has nothing to tell.
my $after = 0;
$after += spray("after$_", 1, $start + 60_000) for 1 .. 20;
my @told = split / /, told();
is(scalar(@told), 2, 'one line after it');
cmp_ok($told[1], '>=', $refused + $more - 1, 'with all since the first');

my $later = 0;
$later += spray("later$_", 1, $start + 120_000) for 1 .. 20;
@told = split / /, told();
is(scalar(@told), 3, 'and one after the next minute');
cmp_ok($told[0] + $told[1] + $told[2], '<=', $refused + $more + $after + $later, 'nothing is told twice');

log_is_calm($t);

###############################################################################

# Asks once with each of so many new keys; how many were refused.
sub spray {
	my ($name, $keys, $now) = @_;

	my $refused = 0;
	my $client = connection(8080);
	my @uris = map { "/a.html?k=$name-$_&now=$now" } 1 .. $keys;
	while (my @some = splice @uris, 0, 100) {
		$client->get(@some);
		$refused += status($client->answer()) eq '503' for @some;
	}
	$client->close();
	return $refused;
}

# The counts of all lines so far.
sub told {
	return join ' ', map { /: (\d+) refused since/ } log_lines($t, qr/"z" has no room/);
}

###############################################################################
