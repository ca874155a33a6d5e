# Usage: buffers.rb three|ten|fill|version PATH: small writes through File.open.
program, path = ARGV
if program == "version"
  puts RUBY_VERSION
  exit
end
File.open(path, "wb") do |file|
  case program
  when "three"
    file.write("one")
    file.write("two")
    file.write("three")
    file.flush
  when "ten"
    record = "x" * 1024
    10.times { file.write(record) }
  else
    300_000.times { file.write("x") }
  end
end
