#!/usr/bin/perl

# A zone of another size starts empty; so does one that has been away.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req/)->plan(18);

my $server = <<'EOF';
server {
    listen 127.0.0.1:8080;
    location /a.html { limit_req zone=z; }
}
EOF

configure($t, '1m');
$t->write_file('a.html', 'served');
$t->run();

###############################################################################

is_on_both('used up', '200 503', sub { statuses(shift, ('/a.html?k=a') x 2) });

for my $size (qw/ 2m 32k 1m /) {
	configure($t, $size);
	ok(reload_fully($t), "reload for $size");
	is_on_both('empty', '200 503', sub { statuses(shift, ('/a.html?k=a') x 2) });
}

write_both($t, $server =~ s/limit_req zone=z;//r);
ok(reload_fully($t), 'reload without the zone');
is_on_both('not limited', '200 200', sub { statuses(shift, ('/a.html?k=a') x 2) });

configure($t, '1m');
ok(reload_fully($t), 'reload with the zone again');
is_on_both('empty', '200 503', sub { statuses(shift, ('/a.html?k=a') x 2) });

log_is_calm($t);

###############################################################################

sub configure {
	my ($t, $size) = @_;
	write_both($t, "limit_req_zone \$arg_k zone=z:$size rate=1r/m;\n$server");
}

###############################################################################
