# Usage: buffers.pl three|ten|fill|version PATH: small writes through print.
use strict;
use warnings;
use IO::Handle;

my ($program, $path) = @ARGV;
if ($program eq 'version') {
    printf "%vd\n", $^V;
    exit;
}
open(my $file, '>:raw', $path) or die "$path: $!\n";
if ($program eq 'three') {
    print {$file} 'one';
    print {$file} 'two';
    print {$file} 'three';
    $file->flush;
} elsif ($program eq 'ten') {
    print {$file} 'x' x 1024 for 1 .. 10;
} else {
    print {$file} 'x' for 1 .. 300_000;
}
close($file) or die "$path: $!\n";
