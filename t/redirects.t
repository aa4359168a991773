#!/usr/bin/perl

# A client's request is judged once, however nginx redirects it inside; the limit of a location that
# it is redirected to applies if none has before.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req proxy rewrite/)->plan(23);

write_both($t, <<'EOF');
# Of the client's own text, so that it is the same after a redirect.
limit_req_zone $request_uri zone=z:1m rate=1r/m;
server {
    listen 127.0.0.1:8080;
    limit_req zone=z;
    location /try/   { try_files /nothing /page.html; }
    location /error/ { error_page 404 = /page.html; }
    location /named/ { error_page 404 = @named; }
    location @named  { try_files /nothing /page.html; }
    location /accel/ { proxy_pass http://127.0.0.1:8082; }
    location /busy/  { error_page 503 /busy.html; }
    location /chain/ { error_page 404 = /accel/; }
    location /rewrite/ { rewrite ^ /try/ last; }
}
server {
    listen 127.0.0.1:8081;
    location / { try_files /nothing /limited.html; }
    location /error/ { error_page 404 = @limited; }
    location /limited.html { limit_req zone=z; }
    location @limited { limit_req zone=z; try_files /page.html =404; }
}
server {
    listen 127.0.0.1:8082;
    location / {
        add_header X-Accel-Redirect /page.html;
        rewrite ^ /page.html break;
    }
}
EOF

mkdir $t->testdir() . "/$_" for qw/ index busy /;
$t->write_file($_, 'served') for qw( page.html index/index.html limited.html busy/a.html );
$t->write_file('busy.html', 'busy');
$t->run();

###############################################################################

for my $uri (qw( /index/ /try/ /error/ /named/ /accel/ /chain/ /rewrite/ )) {
	is_on_both("once, $uri", '200 503', sub { statuses(shift, ($uri) x 2) });
}
is_on_both('a refused request gets its page', 'served 503 busy', sub {
	my ($side) = @_;
	my ($first, $second) = map { get($side, '/busy/a.html') } 1 .. 2;
	return join ' ', body($first), status($second), body($second);
});
for my $uri (qw( /open /error/open )) {
	is_on_both("only where it is redirected to, $uri", '200 503', sub {
		statuses(shift eq 'rl_req' ? 8091 : 8081, ($uri) x 2);
	});
}
is_on_both('refusals logged', 10, sub { scalar log_of($t, shift) });

log_is_calm($t);

###############################################################################
