#!/usr/bin/perl

# A new binary takes over (USR2, then QUIT to the old master): requests that are being held are
# answered after their wait. The new master has zones of its own, as with nginx's limit_req.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

use Time::HiRes qw/ sleep /;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http/)->plan(7);

# Only a master that has detached itself takes USR2.
write_http($t, <<'EOF');
error_log %%TESTDIR%%/error.log info;
rl_zone $arg_k zone=held:1m rate=1r/s;
server {
    listen 127.0.0.1:8080;
    add_header X-Worker $pid always;
    location /held.html { rl_req zone=held burst=2; }
}
EOF
$t->write_file('nginx.conf', $t->read_file('nginx.conf') =~ s/daemon off;/daemon on;/r);
$t->write_file('held.html', 'served');

my $dir = $t->testdir();
my $pid_file = "$dir/nginx.pid";
END { kill 'QUIT', grep { $_ } map { pid_in($_) } $pid_file, "$pid_file.oldbin" if $pid_file }

system($Test::Nginx::NGINX, '-p', "$dir/", '-c', 'nginx.conf', '-e', 'error.log');
ok(wait_until { pid_in($pid_file) }, 'a master that has detached itself') or BAIL_OUT('no server');
my $old = pid_in($pid_file);

###############################################################################

my $held = in_child(sub { waits(1, at_once(8080, ('/held.html?k=a') x 3)) });
sleep(0.2);
kill 'USR2', $old;
ok(wait_until { pid_in("$pid_file.oldbin") && pid_in($pid_file) && pid_in($pid_file) != $old },
	'a new master beside it');
kill 'QUIT', $old;
is(<$held>, '200+0 200+1 200+2', 'held while the masters change');
ok(wait_until { !kill 0, $old }, 'the old master is gone');

is(statuses(8080, ('/held.html?k=b') x 2), '200 200', 'the new one serves');
is(waits(1, at_once(8080, ('/held.html?k=c') x 4)), '200+0 200+1 200+2 503+0', 'and limits');

my $new = pid_in($pid_file);
kill 'QUIT', $new;
ok(wait_until { !kill 0, $new }, 'and stops');

###############################################################################

sub pid_in {
	my ($name) = @_;

	open my $file, '<', $name or return 0;
	my ($pid) = (<$file> || '') =~ /^(\d+)$/;
	return $pid || 0;
}
