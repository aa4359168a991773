package Test::RateLimit::HTTP2;

# A client of HTTP/2 without TLS, as small as the tests of rl_req allow: several streams on one
# connection, bodies sent piece by piece, a stream reset half-way. It sends header fields as plain
# literals and reads of an answer's only the status, which nginx puts first (RFC 9113, RFC 7541).

use warnings;
use strict;

use IO::Select;
use IO::Socket::INET;
use Time::HiRes qw/ time /;

my %TYPE = (DATA => 0, HEADERS => 1, RST_STREAM => 3, SETTINGS => 4, PING => 6, GOAWAY => 7,
	WINDOW_UPDATE => 8);
my ($END_STREAM, $ACK, $END_HEADERS) = (1, 1, 4);
my $INITIAL_WINDOW_SIZE = 4;
my $CANCEL = 8;
my $MAX_WINDOW = 2 ** 31 - 1;

# Fields 8 to 14 of the static table.
my @STATUS = (200, 204, 206, 304, 400, 404, 500);

sub new {
	my ($class, $address) = @_;

	my $socket = IO::Socket::INET->new(Proto => 'tcp', PeerAddr => $address)
		or die "Can't connect to nginx: $!\n";
	my $self = bless { socket => $socket, next => 1, read => '', streams => {} }, $class;

	$socket->print("PRI * HTTP/2.0\x0d\x0a\x0d\x0aSM\x0d\x0a\x0d\x0a");
	# Windows so wide that none has to be moved.
	$self->frame('SETTINGS', 0, 0, pack 'nN', $INITIAL_WINDOW_SIZE, $MAX_WINDOW);
	$self->frame('WINDOW_UPDATE', 0, 0, pack 'N', $MAX_WINDOW - 65535);
	return $self;
}

# Sends the header of a request, and its end unless a body is to come. Returns the stream.
sub request {
	my ($self, $path, %option) = @_;

	my $stream = $self->{next};
	$self->{next} += 2;
	$self->{streams}{$stream} = { status => 'none', body => '' };

	my %field = (':method' => $option{body_follows} ? 'POST' : 'GET', ':scheme' => 'http',
		':path' => $path, ':authority' => 'localhost');
	my $block = join '', map { "\0" . pack 'C/a* C/a*', $_, $field{$_} } sort keys %field;
	my $end = $option{body_follows} ? 0 : $END_STREAM;
	$self->frame('HEADERS', $END_HEADERS | $end, $stream, $block);
	return $stream;
}

# A piece of a request's body, its last if so said.
sub data {
	my ($self, $stream, $data, $last) = @_;

	$self->frame('DATA', $last ? $END_STREAM : 0, $stream, $data);
}

sub reset {
	my ($self, $stream) = @_;

	$self->frame('RST_STREAM', 0, $stream, pack 'N', $CANCEL);
}

# What there is of an answer once it has ended or the time is over: status, body, ended.
sub answer {
	my ($self, $stream, $seconds) = @_;

	my $answer = $self->{streams}{$stream};
	my $deadline = time() + ($seconds || 8);
	while (!$answer->{ended}) {
		last unless $self->read_frame($deadline);
	}
	return $answer;
}

sub close {
	my ($self) = @_;

	$self->{socket}->close();
}

###############################################################################

sub frame {
	my ($self, $type, $flags, $stream, $payload) = @_;

	$self->{socket}->print(substr(pack('N', length $payload), 1)
		. pack('CCN', $TYPE{$type}, $flags, $stream) . $payload);
}

sub read_frame {
	my ($self, $deadline) = @_;

	my $head = $self->take(9, $deadline);
	return 0 unless defined $head;
	my ($high, $low, $type, $flags, $stream) = unpack 'CnCCN', $head;
	my $payload = $self->take($high << 16 | $low, $deadline);
	return 0 unless defined $payload;

	if ($type == $TYPE{SETTINGS} && !($flags & $ACK)) {
		$self->frame('SETTINGS', $ACK, 0, '');
	} elsif ($type == $TYPE{PING} && !($flags & $ACK)) {
		$self->frame('PING', $ACK, 0, $payload);
	}

	my $answer = $self->{streams}{$stream};
	return $type != $TYPE{GOAWAY} unless $answer;

	$answer->{status} = status($payload) if $type == $TYPE{HEADERS};
	$answer->{body} .= $payload if $type == $TYPE{DATA};
	my $may_end = $type == $TYPE{HEADERS} || $type == $TYPE{DATA};
	$answer->{ended} = 1 if $may_end && $flags & $END_STREAM || $type == $TYPE{RST_STREAM};
	return 1;
}

# nginx sends the status as an index into the static table or as three plain digits, behind what it
# says of the dynamic table's size.
sub status {
	my ($block) = @_;

	$block =~ s/\A(?:\x3f[\x80-\xff]*[\x00-\x7f]|[\x20-\x3e])//;
	return $1 if $block =~ /\A[\x08\x18\x48]\x03(\d{3})/;
	return $STATUS[ord($block) - 0x88] || 'none' if $block =~ /\A[\x88-\x8e]/;
	return 'none';
}

sub take {
	my ($self, $length, $deadline) = @_;

	while (length $self->{read} < $length) {
		my $left = $deadline - time();
		return undef if $left <= 0
			|| !IO::Select->new($self->{socket})->can_read($left)
			|| !sysread $self->{socket}, $self->{read}, 65536, length $self->{read};
	}
	return substr $self->{read}, 0, $length, '';
}

###############################################################################

1;
