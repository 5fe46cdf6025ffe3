# Completion of larder in fish. What may stand where, `larder complete` knows.

function __larder_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l plain (string unescape -- $typed 2>/dev/null)
    or set plain $typed
    $words[1] complete -- $words "$plain" 2>/dev/null
end

complete -c larder -f -a '(__larder_complete)'
