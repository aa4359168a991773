#!/usr/bin/perl

# What nginx says of a bad rl_req and its companions: as of limit_req, where that is refused too.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit::Refusals;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req limit_conn/);

# On the http level, in a location, and what is said; all in the words of limit_req. There is a
# zone "z".
my @refused = (
	(map { [ '', "limit_req zone=z $_;", qq{invalid burst value "$_"} ] }
		qw( burst= burst=0 burst=-1 burst=x burst=1.5 )),
	(map { [ '', "limit_req zone=z $_;", qq{invalid delay value "$_"} ] }
		qw( delay= delay=0 delay=-1 delay=x delay=1s )),
	(map { [ '', "limit_req zone=z $_;", qq{invalid parameter "$_"} ] }
		qw( nodelay=1 nodelayed brust=1 z )),
	[ '', 'limit_req burst=5;', '"limit_req" must have "zone" parameter' ],
	[ '', 'limit_req;', 'invalid number of arguments in "limit_req" directive' ],
	[ '', 'limit_req zone=z; limit_req zone=z burst=5;', '"limit_req" directive is duplicate' ],
	[ 'limit_req zone=z; limit_req zone=z;', '', '"limit_req" directive is duplicate' ],
	[ 'limit_conn_zone $arg_k zone=c:1m;', 'limit_req zone=c;',
		'the shared memory zone "c" is already declared for a different use' ],

	[ '', 'limit_req_status 399;', 'value must be between 400 and 599' ],
	[ '', 'limit_req_status 600;', 'value must be between 400 and 599' ],
	[ '', 'limit_req_status x;', '"limit_req_status" directive invalid number' ],
	[ '', 'limit_req_status 429; limit_req_status 429;', '"limit_req_status" directive is duplicate' ],
	[ '', 'limit_req_log_level debug;', 'invalid value "debug"' ],
	[ '', 'limit_req_log_level warn; limit_req_log_level warn;',
		'"limit_req_log_level" directive is duplicate' ],
	[ '', 'limit_req_dry_run yes;',
		'invalid value "yes" in "limit_req_dry_run" directive, it must be "on" or "off"' ],
);

# What limit_req takes, to be wrong later, or says in a way that does not help.
my @refused_by_us = (
	(map { [ '', "rl_req zone=z $_;", qr/^invalid burst value "$_", at most \d+/ ] }
		qw( burst=9223372036854 burst=9223372036854775807 burst=99999999999999999999 )),
	(map { [ '', "rl_req zone=z $_;", qr/^invalid delay value "$_", at most \d+/ ] }
		qw( delay=9223372036854776 delay=99999999999999999999 )),
	[ '', 'rl_req zone=nowhere;', qr/"nowhere".*"rl_zone"/ ],
	[ 'rl_req zone=nowhere;', '', qr/"nowhere".*"rl_zone"/ ],
	[ '', 'rl_req zone=;', qr/zone ""/ ],
	[ 'rl_zone $arg_k zone=w:1m algorithm=fixed_window;', 'rl_req zone=w burst=5;',
		qr/"rl_req" on zone "w": "burst=5" means nothing to "fixed_window", which counts requests/ ],
	[ 'rl_zone $arg_k zone=w:1m algorithm=sliding_log;', 'rl_req zone=w nodelay;',
		qr/"rl_req" on zone "w": "nodelay" means nothing to "sliding_log"/ ],
	[ 'rl_zone $arg_k zone=w:1m algorithm=leaky_queue;', 'rl_req zone=w burst=5 delay=2;',
		qr/"rl_req" on zone "w": "delay=2" means nothing to "leaky_queue"/ ],
	[ 'rl_zone $arg_k zone=w:1m algorithm=gcra rate=1r/w;', 'rl_req zone=w burst=10000;',
		qr{invalid burst value "burst=10000", at most \d+ with "gcra" at "rate=1r/w"} ],
	[ 'limit_req_zone $arg_k zone=stock:1m rate=1r/m;', 'rl_req zone=stock;',
		qr/"stock" is already declared for a different use/ ],
);

my @accepted = (
	'limit_req burst=1 zone=z nodelay; limit_req_status 400;',
	'limit_req zone=z burst=1 delay=1; limit_req_status 599;',
);
my @accepted_by_us = (
	'rl_req zone=z burst=1 delay=1 nodelay;',
	'rl_req zone=z burst=9223372036853;',
);

$t->plan(2 * @refused + @refused_by_us + 2 * @accepted + @accepted_by_us + 1);

###############################################################################

refused_alike($t, @$_) for @refused;
refused_by_us($t, @$_) for @refused_by_us;
accepted_alike($t, '', $_) for @accepted;
accepted_by_us($t, '', $_) for @accepted_by_us;

# Found only after the whole block, and yet with its place.
my $said = said($t, '', "\nrl_req zone=nowhere;");
my @lines = split /\n/, $t->read_file('nginx.conf');
my ($place) = grep { $lines[$_ - 1] =~ /nowhere/ } 1 .. @lines;
like($said, qr/ in \S+nginx\.conf:$place$/, 'an undeclared zone, with the line of the limit');

###############################################################################
