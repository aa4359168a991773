#!/usr/bin/perl

# A client at the limit of a log-in cannot make room for itself: it sprays the zones with keys, ten
# times as many as they hold, and is still limited. limit_req forgets it.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

# Five log-ins at once, and then five in ten minutes, or in five where stock cannot tell it.
my %limit = (
	sliding_log => [ 'rl_zone', 'rate=5r/10m algorithm=sliding_log', 'rl_req', '' ],
	gcra => [ 'rl_zone', 'rate=5r/10m algorithm=gcra', 'rl_req', 'burst=4 nodelay' ],
	leaky => [ 'rl_zone', 'rate=1r/m', 'rl_req', 'burst=4 nodelay' ],
	stock => [ 'limit_req_zone', 'rate=1r/m', 'limit_req', 'burst=4 nodelay' ],
);
my @names = sort keys %limit;
my ($zones, $locations, $all) = ('', '', '');
for my $name (@names) {
	my ($declare, $rate, $use, $burst) = @{$limit{$name}};
	$zones .= "$declare \$arg_k zone=$name:32k $rate;\n";
	$locations .= "location /$name.html { $use zone=$name $burst; }\n";
	$all .= "$use zone=$name $burst;\n";
}

my $t = Test::Nginx->new()->has(qw/http limit_req/)->plan(2 * @names + 6);

write_http($t, <<"EOF");
# At level debug the log would take most of the time.
error_log %%TESTDIR%%/error.log info;
$zones
server {
    listen 127.0.0.1:8080;
    keepalive_requests 100000;
    $locations
    location /all.html {
        $all
    }
}
EOF

$t->write_file("$_.html", 'served') for @names, 'all';
$t->run();

###############################################################################

for my $name (@names) {
	is(statuses(8080, ("/$name.html?k=thief") x 6), '200 200 200 200 200 503', "$name: a client at its limit");
}

# The smallest zone has room for 1820 records of 18 bytes at most.
my %statuses;
my $client = connection(8080);
for my $round (1 .. 182) {
	my @uris = map { "/all.html?k=$round-$_" } 1 .. 100;
	$client->get(@uris);
	$statuses{status($client->answer())}++ for @uris;
}
is(join(' ', %statuses), '200 18200', 'a spray of other keys');

for my $name (@names) {
	is(statuses(8080, "/$name.html?k=thief"), $name eq 'stock' ? '200' : '503',
		$name eq 'stock' ? 'limit_req lets the client in' : "$name: the client is still limited");
}

for my $name (grep { $_ ne 'stock' } @names) {
	like(join("\n", log_lines($t, qr/"$name" has no room/)), qr/\A.*\d+ live evicted.*\z/,
		"$name: the log tells of the spray");
}
is(join("\n", grep { !/limiting requests|has no room/ } log_lines($t, qr/\[(?!info|debug|notice)\w+\]/)), '',
	'and of nothing else');

log_is_calm($t);

###############################################################################
