#!/usr/bin/perl

# Every configuration that we show a user is loaded by nginx: the files of nginx-conf/, the
# ```nginx blocks of the README, and what migrate.sed makes of a configuration for limit_req.
# Of nginx-tests' interface it needs only TEST_NGINX_BINARY and TEST_NGINX_GLOBALS.

use warnings;
use strict;

use Test::More;

use Cwd qw/ abs_path /;
use File::Basename qw/ basename dirname /;
use File::Temp qw/ tempdir /;

###############################################################################

my $top = abs_path(dirname(__FILE__) . '/..');
my $nginx = $ENV{TEST_NGINX_BINARY} || "$top/build/vendored/nginx";
my ($module) = ($ENV{TEST_NGINX_GLOBALS} || '') =~ /load_module\s+(\S+?);/;
$module ||= "$top/build/vendored/ngx_http_rl_module.so";

# The examples say `load_module modules/ngx_http_rl_module.so`, which is relative to the prefix.
my $load_module = 'load_module modules/ngx_http_rl_module.so;';
my $prefix = tempdir(CLEANUP => 1);
mkdir "$prefix/$_" for qw/ modules logs html /;
symlink($module, "$prefix/modules/ngx_http_rl_module.so") or die "symlink: $!";

###############################################################################

my @files = sort glob "$top/nginx-conf/*.conf";
cmp_ok(@files, '>=', 6, 'examples found');

for my $file (@files) {
	my $conf = read_file($file);
	is(complaint($conf), '', 'nginx-conf/' . basename($file));
	like($conf, qr/\A# What for:.*^# Try it:/ms, 'says what for and how to try');
}

my @blocks = read_file("$top/README.md") =~ /^```nginx\n(.*?)^```$/gms;
cmp_ok(@blocks, '>=', 5, 'blocks of the README found');

for my $block (@blocks) {
	my ($first) = $block =~ /^(.*)$/m;
	is(complaint(complete($block)), '', "README: $first");
}

# Everything limit_req has, as an operator may have written it.

my $stock = <<'EOF';
events { }

http {
    limit_req_zone $binary_remote_addr zone=one:1m rate=1r/s;
    limit_req_zone "$server_name$uri" zone=two:10m rate=30r/m;

    limit_req_log_level warn;
    log_format limits '$remote_addr $status $limit_req_status';

    server {
        listen 127.0.0.1:8080;
        access_log off;
        limit_req zone=one burst=5;

        location /a/ {
            limit_req zone=one burst=5 nodelay;
            limit_req zone=two burst=10 delay=3;
            limit_req_status 429;
        }

        location /b/ {
            limit_req_dry_run on;
            limit_req zone=two;
            limit_req_log_level info;
            add_header X-Limit $limit_req_status;
        }
    }
}
EOF

is(complaint($stock), '', 'a configuration for limit_req');

write_file("$prefix/stock.conf", $stock);
my $migrated = `sed -f '$top/nginx-conf/migrate.sed' '$prefix/stock.conf'`;
unlike($migrated, qr/limit_req/, 'migrate.sed leaves no limit_req');
is(scalar(() = $migrated =~ /rl_/g), scalar(() = $stock =~ /limit_req/g), 'and turns every one');
is(complaint("$load_module\n$migrated"), '', 'which nginx takes');

done_testing();

###############################################################################

# Returns what nginx complains of, or nothing.
sub complaint {
	my ($conf) = @_;

	# What is written where the system's nginx writes, or another user has written.
	$conf = "pid $prefix/nginx.pid;\n" . $conf =~ s/^pid [^;]+;//mr;
	$conf =~ s!^http \{\n!$&access_log $prefix/logs/access.log;\n!m unless $conf =~ /access_log/;
	write_file("$prefix/nginx.conf", $conf);

	my $said = `'$nginx' -p '$prefix/' -e stderr -t -c '$prefix/nginx.conf' 2>&1`;
	return $? == 0 && $said !~ /\[(warn|error|crit|alert|emerg)\]/ ? '' : "failed: $said";
}

# A block of the README is a whole configuration, or stands in http, or in a server with the zone
# `api` that the README declares further up.
sub complete {
	my ($block) = @_;

	return $block if $block =~ /^events\b/m;
	if ($block =~ /^(location|rl_req)\b/m && $block !~ /^server\b/m) {
		$block = "server {\nlisten 127.0.0.1:8080;\n$block}\n";
	}
	if ($block !~ /^rl_zone\b/m) {
		$block = "rl_zone \$binary_remote_addr zone=api:1m rate=10r/s;\n$block";
	}
	return "$load_module\nevents { }\nhttp {\n$block}\n";
}

sub read_file {
	my ($name) = @_;

	open my $fh, '<', $name or die "$name: $!";
	local $/;
	return <$fh>;
}

sub write_file {
	my ($name, $text) = @_;

	open my $fh, '>', $name or die "$name: $!";
	print $fh $text;
	close $fh or die "$name: $!";
}

###############################################################################
