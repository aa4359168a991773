#!/usr/bin/perl

# What a zone does with a new key when it is full: full=evict, reject and pass, at the smallest
# zone, and what the log says of it. Who has a record is limited as before under all of them.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my @algorithms = qw/ leaky gcra sliding_log /;
my @policies = qw/ evict reject pass /;
my @zones = map { my $algorithm = $_; map { "${algorithm}_$_" } @policies } @algorithms;

# More keys than fit the smallest zone under any of the algorithms.
my $MANY = 2500;

my $t = Test::Nginx->new()->has(qw/http/)->plan(4 * @zones + 18);

configure($t, map { $_ => $_ } @policies);
$t->write_file("$_.html", 'served') for @zones, qw/ dry recovers /;
$t->run();

###############################################################################

my %lost = (
	evict => 'live evicted',
	reject => 'refused',
	pass => 'passed untracked',
);

for my $zone (@zones) {
	my ($policy) = $zone =~ /_([a-z]+)\z/;
	is(statuses(8080, ("/$zone.html?k=known") x 3), '200 200 429', "$zone: a client at its limit");

	my %got = spray($zone, 1 .. $MANY);
	is(join(' ', sort keys %got), $policy eq 'reject' ? '200 429' : '200', "$zone: new ones");
	is(statuses(8080, "/$zone.html?k=known"), '429', "$zone: the limit still holds");

	# The first loss is told at once, and hundreds more within the minute are not.
	is(join("\n", log_lines($t, qr/"$zone" has no room/)), "[warn] \"rl_zone\" \"$zone\" has no room for"
		. " new keys: 1 $lost{$policy} since the last such line; give it a larger size", "$zone: one line");
}

# A refusal looks as any other; a key's first request has no excess.

my ($refused) = grep { status(get(8080, "/leaky_reject.html?k=more$_")) eq '429' } 1 .. 200;
like((log_lines($t, qr/"GET \S+k=more$refused /))[0],
	qr/\A\[error\] limiting requests, excess: 0\.000 by zone "leaky_reject", client: 127\.0\.0\.1, /,
	'line of a refusal');
is(variable($t, "more$refused"), 'REJECTED', 'its status');

# Dry run charges whom it can, and refuses nobody.

my %got = spray('dry', map { "dry$_" } 1 .. 200);
is(join(' ', %got), '200 200', 'dry run');
cmp_ok(scalar(log_lines($t, qr/limiting requests, dry run, excess: 0\.000 by zone "leaky_reject"/)), '>', 0,
	'tells of refusals');
like(join(' ', map { variable($t, "dry$_") } 1 .. 200), qr/\bREJECTED_DRY_RUN\b/, 'and so does its status');

# Records that have recovered are no loss.

%got = spray('recovers', 1 .. $MANY);
is(join(' ', %got), "200 $MANY", 'keys that recover at once');
is(scalar(log_lines($t, qr/"recovers"/)), 0, 'nothing to tell');

# Another policy keeps the zone, and holds from then on.

configure($t, evict => 'pass', reject => 'evict', pass => 'reject');
ok(reload_fully($t), 'reload with other policies');
is(join(' ', map { statuses(8080, "/$_.html?k=known") } @zones), join(' ', (429) x @zones), 'records are kept');
for my $algorithm (@algorithms) {
	is(join(' ', sort keys %{{ spray("${algorithm}_reject", map { "after$_" } 1 .. 200) }}), '200',
		"$algorithm: refuses no more");
	like(join(' ', keys %{{ spray("${algorithm}_pass", map { "after$_" } 1 .. 200) }}), qr/429/,
		"$algorithm: refuses now");
}
is(scalar(log_lines($t, qr/has no room/)), @zones, 'the minute is not over yet');
is(scalar(log_lines($t, qr/starts empty/)), 0, 'no zone starts anew');

log_is_calm($t);

###############################################################################

# Zones are named by what their policies are at first.
sub configure {
	my ($t, %policy) = @_;

	my ($zones, $locations) = ('', '');
	for my $zone (@zones) {
		my ($algorithm, $named) = $zone =~ /\A(\w+)_(\w+)\z/;
		my ($rate, $burst) = $algorithm eq 'sliding_log' ? ('2r/h', '') : ('1r/10m', 'burst=1 nodelay');
		$zones .= "rl_zone \$arg_k full=$policy{$named} zone=$zone:32k rate=$rate algorithm=$algorithm;\n";
		$locations .= "location /$zone.html { rl_req zone=$zone $burst; }\n";
	}
	return write_http($t, <<"EOF");
# At level debug the log would take most of the time.
error_log %%TESTDIR%%/error.log info;
log_format status '\$arg_k \$rl_req_status';
access_log %%TESTDIR%%/status.log status;
$zones
rl_zone \$arg_k zone=recovers:32k rate=10000r/s;
rl_req_status 429;
server {
    listen 127.0.0.1:8080;
    keepalive_requests 100000;
    $locations
    location /dry.html { rl_req_dry_run on; rl_req zone=leaky_reject burst=1 nodelay; }
    location /recovers.html { rl_req zone=recovers; }
}
EOF
}

# Asks once with each key; how often each status came.
sub spray {
	my ($name, @keys) = @_;

	my %statuses;
	my $client = connection(8080);
	while (my @some = splice @keys, 0, 100) {
		$client->get(map { "/$name.html?k=$_" } @some);
		$statuses{status($client->answer())}++ for @some;
	}
	return %statuses;
}

# What became of the last request with a key.
sub variable {
	my ($t, $key) = @_;

	my ($status) = reverse access_log_of($t, 'status', qr/\A\Q$key\E /, 1);
	return defined $status ? $status =~ s/\A\S+ //r : 'none';
}

###############################################################################
