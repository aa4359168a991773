#!/usr/bin/perl

# What nginx says of a bad rl_zone: as of limit_req_zone, where that is refused too.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit::Refusals;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req/);

# On the http level, in a location, and what is said; all in the words of limit_req.
my @refused = (
	(map { [ "limit_req_zone \$arg_k zone=y:1m $_;", '', qq{invalid rate "$_"} ] }
		qw( rate= rate=0 rate=0r/s rate=r/s rate=-1r/s rate=1.5r/s rate=1r/ rate=x )),
	(map { [ "limit_req_zone \$arg_k $_ rate=1r/m;", '', qq{invalid zone size "$_"} ] }
		qw( zone=y zone=y: zone=y:x zone=y:-1m zone=y:1g zone=y:1m1 )),
	(map { [ "limit_req_zone \$arg_k $_ rate=1r/m;", '', qq{zone "$_" is too small} ] }
		qw( zone=y:0 zone=y:32767 zone=y:31k )),
	[ 'limit_req_zone $arg_k zone=:1m rate=1r/m;', '',
		'"limit_req_zone" must have "zone" parameter' ],
	[ 'limit_req_zone $arg_k rate=1r/m rate=2r/m;', '',
		'"limit_req_zone" must have "zone" parameter' ],
	[ 'limit_req_zone $arg_k zone=y:1m rete=1r/m;', '', 'invalid parameter "rete=1r/m"' ],
	[ 'limit_req_zone $arg_j zone=z:1m rate=2r/m;', '',
		'limit_req_zone "z" is already bound to key "$arg_k"' ],
	[ 'limit_req_zone $arg_k zone=z:2m rate=1r/m;', '', 'the size 2097152 of shared memory zone'
		. ' "z" conflicts with already declared size 1048576' ],
	[ 'limit_req_zone $nothing zone=y:1m rate=1r/m;', '', 'unknown "nothing" variable' ],
	[ 'limit_req_zone $arg_k;', '', 'invalid number of arguments in "limit_req_zone" directive' ],
	[ '', 'limit_req_zone $arg_k zone=y:1m rate=1r/m;',
		'"limit_req_zone" directive is not allowed here' ],
);

# What limit_req_zone takes, to be wrong later, and what it does not know.
my @refused_by_us = (
	(map { [ "rl_zone \$arg_k zone=y:1m $_;", '', qr/^invalid rate "$_", at most \d+/ ] }
		qw( rate=9223372036854776 rate=9223372036854775807r/s rate=99999999999999999999 )),
	[ 'rl_zone $arg_k zone=y:1m rate=1r/h;', '', qr{^invalid rate "rate=1r/h": "leaky" .* use "algorithm=gcra"} ],
	[ 'rl_zone $arg_k zone=y:1m algorithm=fifo;', '', qr/^invalid algorithm "algorithm=fifo", one of leaky, gcra,/ ],
	[ 'rl_zone $arg_k zone=y:1m full=drop;', '', qr/^invalid full value "full=drop", one of evict, reject, pass/ ],
	[ 'rl_zone $arg_k zone=y:1m rate=1r/10x;', '', qr{^invalid rate "rate=1r/10x"} ],
	[ 'rl_zone $arg_k zone=y:1m rate=20000000r/s algorithm=gcra;', '',
		qr{^invalid rate "rate=20000000r/s": "gcra" takes at most 10000000 requests a second} ],
	[ qq{rl_zone "\xff\$arg_j" zone=y:1m; rl_zone \$arg_k zone=y:1m;}, '',
		qr/^rl_zone "y" is already bound to key "\\xff\$arg_j"$/ ],
	[ 'rl_zone $arg_k zone=y:32k rate=1000r/m algorithm=sliding_log;', '',
		qr{rl_zone "[^"]*" is too small for "sliding_log" at "rate=1000r/m": a key takes 8000 bytes, so 3 keys fit} ],
);

my @accepted = (
	'limit_req_zone $arg_k zone=y:32k rate=1;',
	'limit_req_zone $arg_k rate=1r/m zone=y:32768;',
	'limit_req_zone $arg_k$arg_j-text zone=y:1M rate=10r/s;',
);
# limit_req_zone takes exactly three arguments.
my @accepted_by_us = (
	'rl_zone $arg_k zone=y:1m;',
	(map { "rl_zone \$arg_k zone=y:1m rate=$_ algorithm=gcra;" } qw( 1r/h 1r/d 1r/w 5r/10s 2r/500ms 1000000r/s )),
	(map { "rl_zone \$arg_k zone=y:1m rate=10r/m algorithm=$_;" } qw( leaky gcra token_bucket leaky_queue
		fixed_window anchored_window sliding_window swc sliding_log )),
	'rl_zone $arg_k zone=x:1m rate=1r/s zone=y:1m rate=5r/s;',
	(map { "rl_zone \$arg_k full=$_ zone=y:1m;" } qw( evict reject pass )),
);

$t->plan(2 * @refused + @refused_by_us + 2 * @accepted + @accepted_by_us + 1);

###############################################################################

refused_alike($t, @$_) for @refused;
refused_by_us($t, @$_) for @refused_by_us;
accepted_alike($t, $_, '') for @accepted;
accepted_by_us($t, $_, '') for @accepted_by_us;

# Found only when the memory is there, and yet with its place.
my $small = 'rl_zone $arg_k zone=y:32k rate=1000r/m algorithm=sliding_log;';
my $said = said($t, $small, '');
my @lines = split /\n/, $t->read_file('nginx.conf');
my ($place) = grep { $lines[$_ - 1] eq $small } 1 .. @lines;
like($said, qr/ in \S+nginx\.conf:$place$/, 'a zone that is too small, with its line');

###############################################################################
