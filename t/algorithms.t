#!/usr/bin/perl

# Each algorithm in real time: passes and refuses, in a dry run, over an internal redirect, beside
# other algorithms, and holds requests where that has a meaning. What exactly it decides is compared
# with reference data by hooks_algorithms.t.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

# All pass three an hour at once.
my %limits = (
	leaky => [ 'rate=1r/m', 'burst=2 nodelay' ],
	gcra => [ 'rate=1r/h', 'burst=2 nodelay' ],
	token_bucket => [ 'rate=1r/h', 'burst=2 nodelay' ],
	fixed_window => [ 'rate=3r/w', '' ],
	anchored_window => [ 'rate=3r/h', '' ],
	sliding_window => [ 'rate=3r/w', '' ],
	sliding_log => [ 'rate=3r/h', '' ],
);
my @names = sort keys %limits;

my $t = Test::Nginx->new()->has(qw/http rewrite/)->plan(3 * @names + 8);

my ($zones, $locations) = ('', '');
for my $name (@names) {
	my ($rate, $burst) = @{$limits{$name}};
	$zones .= "rl_zone \$arg_k zone=$name:1m $rate algorithm=$name;\n";
	$locations .= <<"EOF";
location = /$name.html { rl_req zone=$name $burst; }
location = /$name/dry.html { rl_req zone=$name $burst; rl_req_dry_run on; try_files /$name.html =404; }
location = /$name/twice.html { rl_req zone=$name $burst; rewrite ^ /$name.html; }
EOF
}
write_http($t, <<"EOF");
$zones
rl_zone \$arg_k zone=queue:1m rate=2r/s algorithm=leaky_queue;
rl_zone \$arg_k zone=held:1m  rate=2r/s algorithm=gcra;
server {
    listen 127.0.0.1:8080;
    add_header X-Status \$rl_req_status always;
    $locations
    location = /queue.html { rl_req zone=queue burst=2; }
    location = /held.html { rl_req zone=held burst=2; }
    location = /some.html { rl_req zone=held burst=2 delay=1; }
    location = /strict.html { rl_req zone=gcra; }
    location = /mixed.html { rl_req zone=gcra burst=2 nodelay; rl_req zone=anchored_window; rl_req zone=sliding_log; }
}
EOF
$t->write_file("$_.html", 'served') for @names, qw/ queue held some mixed strict /;
$t->run();

###############################################################################

for my $name (@names) {
	is(statuses(8080, ("/$name.html?k=a") x 4), '200 200 200 503', $name);
	like(get(8080, "/$name/dry.html?k=a"), qr/ 200 .*X-Status: REJECTED_DRY_RUN/s, "$name, dry run");
	is(statuses(8080, ("/$name/twice.html?k=b") x 4), '200 200 200 503', "$name, judged once over a redirect");
}

# A refusal by the last limit charges none: gcra has counted three, and so has the window.
is(statuses(8080, ('/mixed.html?k=c') x 4), '200 200 200 503', 'several algorithms');
is(statuses(8080, '/sliding_log.html?k=d', ('/mixed.html?k=d') x 3), '200 200 200 503', 'the log is full first');
is(statuses(8080, ('/gcra.html?k=d') x 2), '200 503', 'and the others are charged for what passed');

# What the larger burst lets a key owe is not taken for a time of another rate by the smaller.
is(statuses(8080, ('/gcra.html?k=e') x 3, '/strict.html?k=e'), '200 200 200 503', 'one zone, two bursts');

is(waits(0.5, at_once(8080, ('/held.html?k=a') x 4)), '200+0 200+1 200+2 503+0', 'gcra holds');
is(waits(0.5, at_once(8080, ('/some.html?k=b') x 4)), '200+0 200+0 200+1 503+0', 'gcra holds all but one');
# The first place is partly free by the time the fourth request comes.
is(waits(0.5, at_once(8080, ('/queue.html?k=a') x 5)), '200+0 200+1 200+2 200+3 503+0', 'the queue spaces');

log_is_calm($t);

###############################################################################
