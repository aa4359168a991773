#!/usr/bin/perl

# The address that realip finds is the key, also where only a location knows of the proxy.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req realip/)->plan(7);

write_both($t, <<'EOF', http => 'real_ip_header X-Real-IP;');
limit_req_zone $remote_addr zone=z:1m rate=1r/m;
limit_req_zone $binary_remote_addr zone=binary:1m rate=1r/m;
server {
    listen 127.0.0.1:8080;
    location /location.html {
        set_real_ip_from 127.0.0.1;
        limit_req zone=z;
    }
    location /binary.html {
        set_real_ip_from 127.0.0.1;
        limit_req zone=binary;
    }
    location /none.html { limit_req zone=z; }
}
EOF

$t->write_file("$_.html", 'served') for qw/ location binary none /;
$t->run();

###############################################################################

is_on_both('in a location', '200 200 503 503', sub {
	from(shift, '/location.html', qw/ 192.0.2.1 192.0.2.2 192.0.2.1 192.0.2.2 /);
});
is_on_both('as bytes', '200 200 503', sub {
	from(shift, '/binary.html', qw/ 192.0.2.1 2001:db8::1 192.0.2.1 /);
});
is_on_both('not where the proxy is not known', '200 503', sub {
	from(shift, '/none.html', qw/ 192.0.2.3 192.0.2.4 /);
});

log_is_calm($t);

###############################################################################

sub from {
	my ($side, $uri, @addresses) = @_;
	return join ' ', map {
		status(ask($side, "GET $uri HTTP/1.0\nX-Real-IP: $_\n\n"));
	} @addresses;
}

###############################################################################
