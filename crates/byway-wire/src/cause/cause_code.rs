//! The cause codes (RFC 9260 section 3.3.10, RFC 4895 and RFC 5061).

/// Invalid Stream Identifier (RFC 9260 section 3.3.10.1).
pub const INVALID_STREAM_IDENTIFIER: u16 = 1;
/// Missing Mandatory Parameter (RFC 9260 section 3.3.10.2).
pub const MISSING_MANDATORY_PARAMETER: u16 = 2;
/// Stale Cookie (RFC 9260 section 3.3.10.3).
pub const STALE_COOKIE: u16 = 3;
/// Out of Resource (RFC 9260 section 3.3.10.4).
pub const OUT_OF_RESOURCE: u16 = 4;
/// Unresolvable Address (RFC 9260 section 3.3.10.5).
pub const UNRESOLVABLE_ADDRESS: u16 = 5;
/// Unrecognized Chunk Type (RFC 9260 section 3.3.10.6).
pub const UNRECOGNIZED_CHUNK_TYPE: u16 = 6;
/// Invalid Mandatory Parameter (RFC 9260 section 3.3.10.7).
pub const INVALID_MANDATORY_PARAMETER: u16 = 7;
/// Unrecognized Parameters (RFC 9260 section 3.3.10.8).
pub const UNRECOGNIZED_PARAMETERS: u16 = 8;
/// No User Data (RFC 9260 section 3.3.10.9).
pub const NO_USER_DATA: u16 = 9;
/// Cookie Received While Shutting Down (RFC 9260 section 3.3.10.10).
pub const COOKIE_RECEIVED_WHILE_SHUTTING_DOWN: u16 = 10;
/// Restart of an Association with New Addresses (RFC 9260 section 3.3.10.11).
pub const RESTART_WITH_NEW_ADDRESSES: u16 = 11;
/// User-Initiated Abort (RFC 9260 section 3.3.10.12).
pub const USER_INITIATED_ABORT: u16 = 12;
/// Protocol Violation (RFC 9260 section 3.3.10.13).
pub const PROTOCOL_VIOLATION: u16 = 13;
/// Request to Delete Last Remaining IP Address (RFC 5061 section 4.3.1).
pub const DELETE_LAST_ADDRESS: u16 = 0x00A0;
/// Operation Refused Due to Resource Shortage (RFC 5061 section 4.3.2).
pub const RESOURCE_SHORTAGE: u16 = 0x00A1;
/// Request to Delete Source IP Address (RFC 5061 section 4.3.3).
pub const DELETE_SOURCE_ADDRESS: u16 = 0x00A2;
/// Association Aborted Due to Illegal ASCONF-ACK (RFC 5061 section 4.3.4).
pub const ILLEGAL_ASCONF_ACK: u16 = 0x00A3;
/// Request Refused, No Authorization (RFC 5061 section 4.3.5).
pub const NO_AUTHORIZATION: u16 = 0x00A4;
/// Unsupported HMAC Identifier (RFC 4895 section 4.1).
pub const UNSUPPORTED_HMAC: u16 = 0x0105;

/// The name that the RFCs give to a cause code, for logs and traces.
#[must_use]
pub const fn name(code: u16) -> Option<&'static str> {
    Some(match code {
        INVALID_STREAM_IDENTIFIER => "Invalid Stream Identifier",
        MISSING_MANDATORY_PARAMETER => "Missing Mandatory Parameter",
        STALE_COOKIE => "Stale Cookie",
        OUT_OF_RESOURCE => "Out of Resource",
        UNRESOLVABLE_ADDRESS => "Unresolvable Address",
        UNRECOGNIZED_CHUNK_TYPE => "Unrecognized Chunk Type",
        INVALID_MANDATORY_PARAMETER => "Invalid Mandatory Parameter",
        UNRECOGNIZED_PARAMETERS => "Unrecognized Parameters",
        NO_USER_DATA => "No User Data",
        COOKIE_RECEIVED_WHILE_SHUTTING_DOWN => "Cookie Received While Shutting Down",
        RESTART_WITH_NEW_ADDRESSES => "Restart of an Association with New Addresses",
        USER_INITIATED_ABORT => "User-Initiated Abort",
        PROTOCOL_VIOLATION => "Protocol Violation",
        DELETE_LAST_ADDRESS => "Request to Delete Last Remaining IP Address",
        RESOURCE_SHORTAGE => "Operation Refused Due to Resource Shortage",
        DELETE_SOURCE_ADDRESS => "Request to Delete Source IP Address",
        ILLEGAL_ASCONF_ACK => "Association Aborted Due to Illegal ASCONF-ACK",
        NO_AUTHORIZATION => "Request Refused, No Authorization",
        UNSUPPORTED_HMAC => "Unsupported HMAC Identifier",
        _ => return None,
    })
}
