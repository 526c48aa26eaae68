// The object to which each script adds one member.
const report = {};
