#!/usr/bin/perl

# Over a reload, what has been charged means the same at another rate, window or burst, under each
# algorithm that keeps it.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

# Name of the zone and algorithm; then, for one configuration after the other, rate, burst and what
# one client is answered.
my @zones = (
	[ g => 'gcra',
		[ '1r/h', 'burst=4 nodelay', '200 200 200 200 200 503' ],
		[ '1r/h', 'burst=6 nodelay', '200 200 503' ],
		# The client owes more than the zone can: once more, and then as if at the new limit.
		[ '1r/h', 'burst=2 nodelay', '200 503' ],
		[ '1r/d', 'burst=2 nodelay', '200 200 503' ],
	],
	# A minute more than the zone can owe may be another worker's clock.
	[ minute => 'token_bucket',
		[ '1r/m', 'burst=2 nodelay', '200 200 200 503' ],
		[ '1r/m', 'burst=1 nodelay', '503' ],
		[ '1r/m', '', '200 503' ],
		[ '1r/w', '', '503' ],
	],
	(map { [ $_ => $_,
		[ '3r/w', '', '200 200 200 503' ],
		[ '5r/w', '', '200 200 503' ],
		[ '2r/w', '', '503' ],
		[ '6r/w', '', '200 503' ],
	] } qw/ fixed_window anchored_window sliding_window /),
	[ log => 'sliding_log',
		[ '3r/h', '', '200 200 200 503' ],
		[ '3r/w', '', '503' ],
		[ '3r/m', '', '503' ],
		[ '3r/d', '', '503' ],
	],
);
my $steps = @{$zones[0]} - 2;

my $t = Test::Nginx->new()->has(qw/http/)->plan($steps * (@zones + 1));

configure(0);
$t->write_file("$_->[0].html", 'served') for @zones;
$t->run();

###############################################################################

for my $step (0 .. $steps - 1) {
	if ($step) {
		configure($step);
		ok(reload_fully($t), "reload $step");
	}
	for (@zones) {
		my ($name, $algorithm, @steps) = @$_;
		my ($rate, $burst, $expected) = @{$steps[$step]};
		is(statuses(8080, ("/$name.html?k=a") x split(/ /, $expected)), $expected,
			"$algorithm, $rate $burst");
	}
}

log_is_calm($t);

###############################################################################

sub configure {
	my ($step) = @_;

	my ($declared, $used) = ('', '');
	for (@zones) {
		my ($name, $algorithm, @steps) = @$_;
		my ($rate, $burst) = @{$steps[$step]};
		$declared .= "rl_zone \$arg_k zone=$name:1m rate=$rate algorithm=$algorithm;\n";
		$used .= "location /$name.html { rl_req zone=$name $burst; }\n";
	}
	write_http($t, "$declared server { listen 127.0.0.1:8080; $used }");
}

###############################################################################
